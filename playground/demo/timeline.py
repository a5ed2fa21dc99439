"""The timeline: facts as lines with the milliseconds since what began them. Pure.

A chain begins with a push, a change in the cluster or a new Application; every fact names its chain
(`correlation`), and the id of a chain's first event holds its moment (UUID version 7).
"""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

import msgspec

from bus.envelope import Envelope
from bus.events import Event, RefreshFailed, RenderFailed
from bus.events.sentences import sentence_of

_VERSION_BY_TIME = 7
_CHAINS = 1000


class Line(msgspec.Struct, frozen=True, kw_only=True):
    time: datetime
    after_ms: float | None
    """Milliseconds since the chain began; None where its id does not tell."""
    hop_ms: float | None
    """Milliseconds since the fact before it in the same chain, or since the chain began."""
    about: str
    what: str
    bad: bool = False


class Timeline:
    """Turns facts into lines; remembers the last fact of each chain, of the newest chains."""

    def __init__(self) -> None:
        self._last: dict[str, datetime] = {}

    def line(self, envelope: Envelope, fact: Event) -> Line:
        before = self._last.pop(envelope.correlation, None)
        self._last[envelope.correlation] = envelope.time
        while len(self._last) > _CHAINS:
            del self._last[next(iter(self._last))]
        return line_of(envelope, fact, before)


def line_of(envelope: Envelope, fact: Event, before: datetime | None = None) -> Line:
    """`before`: when the chain's fact before this one was said."""
    began = moment_of(envelope.correlation)
    after = _milliseconds(began, envelope.time)
    hop = _milliseconds(before or began, envelope.time)
    about = envelope.subject.rpartition("/")[2].removesuffix(".git")
    bad = isinstance(fact, RefreshFailed | RenderFailed)
    what = sentence_of(fact)
    return Line(time=envelope.time, after_ms=after, hop_ms=hop, about=about, what=what, bad=bad)


def _milliseconds(since: datetime | None, until: datetime) -> float | None:
    return (until - since).total_seconds() * 1000 if since else None


def moment_of(event_id: str) -> datetime | None:
    """When an event was first published, from its id."""
    try:
        found = uuid.UUID(event_id)
    except ValueError:
        return None
    if found.version != _VERSION_BY_TIME:
        return None
    return datetime.fromtimestamp((found.int >> 80) / 1000, UTC)
