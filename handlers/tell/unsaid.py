"""Which facts were never told, although the cluster shows what they are about. Pure.

Facts of one type about one application are told in order, so the last one that the bus heard says
all: what stands behind it in the note is missing. Where that cannot be known, because the bus is
younger than the note, nothing is told: better a gap in what is kept for three days than a story
told twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta

import msgspec

from bus.events import AppDeleted
from bus.events.facts import AppFact
from bus.identity import AppKey
from handlers.application.application import Application
from handlers.tell.note import Noted, noted

_SKEW = timedelta(minutes=1)
"""By how much the clocks of two machines may differ that acted one after the other."""


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """The last fact of its type about its application."""

    at: datetime
    fact: AppFact


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """What the bus remembers: the last fact of each type and application."""

    since: datetime | None
    """When the oldest fact that it still has was told; None where it has none."""
    told: Mapping[tuple[AppKey, str], Told]

    @classmethod
    def of(cls, since: datetime | None, told: Iterable[Told]) -> Memory:
        """Of facts in the order in which they were told."""
        return cls(since=since, told={_place(one.fact): one for one in told})


def unsaid(app: Application, memory: Memory) -> tuple[tuple[int, AppFact], ...]:
    """What the last write to `app` noted and nobody was told, with its place in the note."""
    note = noted(app)
    if note is None or memory.since is None or note.at < memory.since:
        return ()
    until = {name: _heard_until(name, note, memory) for name in {one.name for one in note.facts}}
    return tuple((place, one) for place, one in enumerate(note.facts) if place > until[one.name])


def unsaid_deletions(namespace: str, known: Iterable[AppKey], memory: Memory) -> Iterator[Told]:
    """Of applications of `namespace` that were spoken of (last: `at`) and went without a word."""
    newest: dict[AppKey, Told] = {}
    for (app, _), one in memory.told.items():
        if app not in newest or newest[app].at <= one.at:
            newest[app] = one
    there = set(known)
    for app, one in sorted(newest.items()):
        if app.namespace == namespace and app not in there and not isinstance(one.fact, AppDeleted):
            yield Told(at=one.at, fact=AppDeleted(app=app, project=one.fact.project))


def _heard_until(name: str, note: Noted, memory: Memory) -> int:
    """The place in the note of the last one that was told; -1 where none was."""
    ours = [place for place, one in enumerate(note.facts) if one.name == name]
    last = memory.told.get(_place(note.facts[ours[0]]))
    if last is None:
        return -1
    for place in reversed(ours):
        if note.facts[place] == last.fact:
            return place
    return -1 if last.at < note.at + _SKEW else ours[-1]


def _place(fact: AppFact) -> tuple[AppKey, str]:
    return fact.app, fact.name
