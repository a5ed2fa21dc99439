"""Batches: items of the link, decoded, cut to what a table can hold, and put on one clock. Pure.

What cannot be read is left out and counted: a broken item must not stop the next one.

Facts of two clusters stand in one timeline, so both have to be on one clock. Heartbeats measure how
far an agent's clock is apart; a difference within the error of that measurement is ignored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from bus.link import ItemKind, LinkItem, StateBody, TaskProgress, TaskResult
from bus.link.kinds import APPLICATION, kind_of_type

SUBJECT_LENGTH = 400
_EARLIEST_YEAR, _LATEST_YEAR = 1970, 2200
"""Of a time that a clock may say."""
NOT_APART = timedelta(seconds=2)


class BatchScope(msgspec.Struct, frozen=True, kw_only=True):
    """The agent and epoch that items come from, and whether they are believed."""

    account_id: str
    agent_id: str
    agent: str
    environment: str
    region: str
    epoch: str
    quarantined: bool = False


class ReportedState(msgspec.Struct, frozen=True, kw_only=True):
    """An object as its agent reports it; `body` is None where the object is gone."""

    kind: str
    subject: str
    uid: str
    hash: str
    project: str
    time: datetime
    sequence: int
    body: StateBody | None = None


class FactRow(msgspec.Struct, frozen=True, kw_only=True):
    event_id: str
    type: str
    subject: str
    project: str
    correlation: str
    time: datetime
    body: dict[str, Any]
    agent_time: datetime | None = None
    """By the agent's clock, where `time` was corrected."""


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """The items of one transaction, in order."""

    states: tuple[ReportedState, ...] = ()
    facts: tuple[FactRow, ...] = ()
    progress: tuple[TaskProgress, ...] = ()
    results: tuple[TaskResult, ...] = ()
    unreadable: int = 0


def read(items: Sequence[LinkItem], now: datetime) -> Batch:
    """Decode the items of a batch; `now` stands in for times that cannot be read."""
    states: list[ReportedState] = []
    facts: list[FactRow] = []
    progress: list[TaskProgress] = []
    results: list[TaskResult] = []
    unreadable = 0
    for item in items:
        try:
            match item.kind:
                case ItemKind.STATE:
                    states.append(_state(item, now))
                case ItemKind.FACT:
                    facts.append(_fact(item, now))
                case ItemKind.TASK if item.type.startswith("progress"):
                    progress.append(msgspec.json.decode(item.body, type=TaskProgress))
                case ItemKind.TASK:
                    results.append(msgspec.json.decode(item.body, type=TaskResult))
        except (msgspec.DecodeError, UnicodeError, RecursionError, ValueError):
            unreadable += 1
    return Batch(
        states=tuple(states),
        facts=tuple(facts),
        progress=tuple(progress),
        results=tuple(results),
        unreadable=unreadable,
    )


def parsed_time(text: str, otherwise: datetime) -> datetime:
    """Read RFC 3339 as a time in UTC; `otherwise` stands in for a time that no clock can mean.

    Python's years end at 1 and 9999, and a zone or a corrected clock would carry a time over the
    end: whoever computes with it later, for an answer of the API, would fail.
    """
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return otherwise
    if not _EARLIEST_YEAR <= found.year <= _LATEST_YEAR:
        return otherwise
    return found.astimezone(UTC) if found.tzinfo is not None else found.replace(tzinfo=UTC)


def clip(text: object, length: int) -> str:
    """Convert to text no longer than its column."""
    return str(text or "")[:length]


def mapping(value: object) -> Mapping[str, Any]:
    """Read a reported value as a mapping: it may be anything."""
    return value if isinstance(value, Mapping) else {}


def listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _state(item: LinkItem, now: datetime) -> ReportedState:
    body = None if item.deleted else msgspec.json.decode(item.body, type=StateBody)
    kind = body.kind if body is not None else _kind_of(item)
    if len(item.subject) > SUBJECT_LENGTH or not kind:
        raise ValueError("a subject that no table can hold, or no kind")
    if kind == APPLICATION.name and "/" not in item.subject:
        raise ValueError("an Application whose subject is not namespace/name")
    return ReportedState(
        kind=clip(kind, 32),
        subject=item.subject,
        uid=clip(item.uid, 64),
        hash=clip(item.hash, 64),
        project=clip(item.project, 63),
        time=parsed_time(item.time, now),
        sequence=item.sequence,
        body=body,
    )


def _kind_of(item: LinkItem) -> str:
    """Find the kind of a tombstone: its body may name it, its type always does."""
    kind = msgspec.json.decode(item.body, type=dict[str, Any]).get("kind", "")
    return str(kind) or kind_of_type(item.type)


def _fact(item: LinkItem, now: datetime) -> FactRow:
    return FactRow(
        event_id=clip(item.id, 36),
        type=clip(item.type, 80),
        subject=clip(item.subject, SUBJECT_LENGTH),
        project=clip(item.project, 63),
        correlation=clip(item.correlation, 36),
        time=parsed_time(item.time, now),
        body=msgspec.json.decode(item.body, type=dict[str, Any]),
    )


def on_our_clock(batch: Batch, skew_ms: int | None, now: datetime) -> Batch:
    """Move the facts of a batch from the agent's clock to ours.

    `skew_ms`: by how much the agent's clock is ahead; None: not measured yet.

    What we hear of has happened: no fact is later than now, or a fact dated far ahead would stay on
    top of the timeline. A clock that is not apart is trusted within the error of the measurement.
    """
    ahead, latest = timedelta(milliseconds=skew_ms or 0), now
    if abs(ahead) < NOT_APART:
        ahead, latest = timedelta(), now + NOT_APART
    facts = tuple(_moved(fact, ahead, latest) for fact in batch.facts)
    return msgspec.structs.replace(batch, facts=facts)


def _moved(fact: FactRow, ahead: timedelta, latest: datetime) -> FactRow:
    try:
        time = min(fact.time - ahead, latest)
    except OverflowError:
        time = min(fact.time, latest)
    if not ahead and time == fact.time:
        return fact
    return msgspec.structs.replace(fact, time=time, agent_time=fact.time)
