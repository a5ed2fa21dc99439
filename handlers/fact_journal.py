"""JournalEntry: facts that follow from a write to an Application, noted in that write. Pure.

A status (Kubernetes) and the fact about it (NATS) live in two systems, and a process can die
between the two writes. So the facts are noted in an annotation together with the status; the agent
that acts next publishes what the bus does not have (`unpublished`). The last entry stays: removing
it would cost a write. Facts of one type about one Application are published in order, so the last
one on the bus decides:

    last fact of the type on the bus      missing are, of that type
    none                                  all facts of the entry
    a fact of the entry                   those behind it in the entry
    another fact, older than the entry    all facts of the entry
    another fact, younger                 none: later writes have been published since

Where this cannot be known, because the bus lost everything from before the entry, nothing is
published: a gap in facts that are kept for three days is better than facts published twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta

import msgspec

from bus.events import (
    AppDeleted,
    Event,
    HealthAssessed,
    OperationFinished,
    OperationStarted,
    ResourcesApplied,
)
from bus.events.event import UnknownTypeError, event_type, wire_type
from bus.events.facts import AppFact
from bus.identity import AppKey
from bus.metadata_keys import PENDING_FACTS
from handlers.application.application import Application

NOTED = (OperationStarted, ResourcesApplied, OperationFinished, HealthAssessed)
"""Facts that follow from a write and from nothing else; all others are made again by looking."""

_LONGEST = 32 * 1024
"""Kubernetes gives all annotations of an object 256 KiB."""


class JournalEntry(msgspec.Struct, frozen=True, kw_only=True):
    at: datetime
    """A time shortly before the write."""
    facts: tuple[AppFact, ...]
    text: str
    """The annotation's value, from which the message ids of the facts are made."""


def journal_annotation(events: Iterable[Event], at: datetime) -> str:
    """Encode the annotation's value; empty where no fact has to be noted."""
    facts = [event for event in events if isinstance(event, NOTED)]
    if not facts:
        return ""
    # The fact with the longest text can be done without: its results stand in the status too.
    whole = _written(facts, at)
    if len(whole) <= _LONGEST:
        return whole
    return _written([one for one in facts if not isinstance(one, ResourcesApplied)], at)


def journal_entry(app: Application) -> JournalEntry | None:
    """Decode the annotation; None without one, or with one that we cannot have written."""
    texts = PENDING_FACTS.values(app.metadata.annotations)
    entries = [entry for text in texts if (entry := _entry(text, app)) is not None]
    # Both names are there if an agent of the version before acted after us: the later write counts.
    return max(entries, key=lambda entry: entry.at, default=None)


def _entry(text: str, app: Application) -> JournalEntry | None:
    if not text or len(text) > _LONGEST:
        return None
    try:
        written = _DECODER.decode(text)
        return JournalEntry(at=written.at, facts=tuple(_facts(written, app)), text=text)
    except (msgspec.DecodeError, UnknownTypeError):
        return None


class _WrittenFact(msgspec.Struct, frozen=True):
    type: str
    fact: msgspec.Raw


class _WrittenEntry(msgspec.Struct, frozen=True, kw_only=True):
    at: datetime
    facts: tuple[_WrittenFact, ...]


def _written(facts: Iterable[AppFact], at: datetime) -> str:
    entries = tuple(
        _WrittenFact(wire_type(one), msgspec.Raw(_ENCODER.encode(one))) for one in facts
    )
    return _ENCODER.encode(_WrittenEntry(at=at, facts=entries)).decode()


def _facts(written: _WrittenEntry, app: Application) -> Iterator[AppFact]:
    for entry in written.facts:
        fact = msgspec.json.decode(entry.fact, type=event_type(entry.type))
        if isinstance(fact, NOTED) and fact.app == app.key:
            yield fact


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(_WrittenEntry)


_SKEW = timedelta(minutes=1)
"""By how much the clocks of two machines may differ that acted one after the other."""


class PublishedFact(msgspec.Struct, frozen=True, kw_only=True):
    """The last fact of its type about its application."""

    at: datetime
    fact: AppFact


class PublishedFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The last fact of each type and Application that the bus still has."""

    since: datetime | None
    """When the oldest fact on the bus was published; None where the bus has none."""
    last: Mapping[tuple[AppKey, str], PublishedFact]

    @classmethod
    def of(cls, since: datetime | None, facts: Iterable[PublishedFact]) -> PublishedFacts:
        """Keep the last of each, of facts in the order of publication."""
        return cls(since=since, last={_subject(one.fact): one for one in facts})


def unpublished(app: Application, memory: PublishedFacts) -> tuple[tuple[int, AppFact], ...]:
    """List the facts of the last journal entry that are not on the bus, with their places in it."""
    entry = journal_entry(app)
    if entry is None or memory.since is None or entry.at < memory.since:
        return ()
    last = {name: _last_published(name, entry, memory) for name in {it.name for it in entry.facts}}
    return tuple((place, one) for place, one in enumerate(entry.facts) if place > last[one.name])


def unpublished_deletions(
    namespace: str, known: Iterable[AppKey], memory: PublishedFacts
) -> Iterator[PublishedFact]:
    """Yield AppDeleted for Applications of `namespace` with facts on the bus that exist no more."""
    newest: dict[AppKey, PublishedFact] = {}
    for (app, _), one in memory.last.items():
        if app not in newest or newest[app].at <= one.at:
            newest[app] = one
    existing = set(known)
    for app, one in sorted(newest.items()):
        if (
            app.namespace == namespace
            and app not in existing
            and not isinstance(one.fact, AppDeleted)
        ):
            yield PublishedFact(at=one.at, fact=AppDeleted(app=app, project=one.fact.project))


def _last_published(name: str, entry: JournalEntry, memory: PublishedFacts) -> int:
    """The place in the entry of the last fact that was published; -1 where none was."""
    places = [place for place, one in enumerate(entry.facts) if one.name == name]
    last = memory.last.get(_subject(entry.facts[places[0]]))
    if last is None:
        return -1
    for place in reversed(places):
        if entry.facts[place] == last.fact:
            return place
    # Another fact is the last one: clocks decide whether it came before or after the entry.
    return -1 if last.at < entry.at + _SKEW else places[-1]


def _subject(fact: AppFact) -> tuple[AppKey, str]:
    return fact.app, fact.name
