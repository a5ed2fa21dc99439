"""The timeline: facts as lines with the milliseconds since what began them. Pure.

A chain begins with a push, a change in the cluster or a new Application; every fact names its chain
(`correlation`), and the id of a chain's first event holds its moment (UUID version 7).
"""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

import msgspec

from bus.envelope import Envelope
from bus.events import (
    AppDeleted,
    Compared,
    Event,
    HealthAssessed,
    ManifestsRendered,
    OperationFinished,
    OperationStarted,
    RefreshFailed,
    RenderFailed,
    ResourcesApplied,
    RevisionResolved,
    SyncSkipped,
)
from bus.status import OperationPhase

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
    what = words_of(fact)
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


def words_of(fact: Event) -> str:  # noqa: C901, PLR0911  one line a kind of fact
    match fact:
        case RevisionResolved():
            return f"commit {fact.revision[:7]} touches {fact.touched} of {fact.watching}"
        case ManifestsRendered():
            how = "unchanged" if fact.cached else "rendered"
            return f"{_count(fact.objects, 'object')} {how} at {fact.revision[:7]}"
        case Compared():
            return f"{fact.status}: {_drift(fact)}"
        case OperationStarted():
            who = "automated sync" if fact.automated else f"sync by {fact.initiated_by}"
            return f"{who} to {fact.revision[:7]} started"
        case ResourcesApplied():
            return _applied(fact)
        case OperationFinished():
            return _finished(fact)
        case HealthAssessed():
            return f"health {fact.before} → {fact.status}{_tail(fact.message)}"
        case RenderFailed() | RefreshFailed():
            return f"{fact.reason}: {fact.message}"
        case SyncSkipped():
            return f"no sync: {fact.message}"
        case AppDeleted():
            return "application deleted"
        case _:
            return fact.name


def _applied(fact: ResourcesApplied) -> str:
    said = [f"{_count(fact.applied, 'object')} applied"]
    said += [f"{fact.pruned} pruned"] if fact.pruned else []
    said += [f"{len(fact.failed)} failed"] if fact.failed else []
    return ", ".join(said)


def _finished(fact: OperationFinished) -> str:
    """The message of a success only repeats that it is one."""
    good = fact.phase is OperationPhase.SUCCEEDED
    return "sync succeeded" if good else f"sync failed{_tail(fact.message)}"


def _count(n: int, one: str) -> str:
    return f"{n} {one}" if n == 1 else f"{n} {one}s"


def _tail(message: str) -> str:
    return f": {message}" if message else ""


def _drift(fact: Compared) -> str:
    counts = {"changed": fact.changed, "missing": fact.missing, "to prune": fact.extra}
    return ", ".join(f"{n} {word}" for word, n in counts.items() if n) or "no differences"
