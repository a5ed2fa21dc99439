"""What the projection works with: items of the link, read and cut to what a table can hold. Pure.

What cannot be read is left out and counted: a poisoned item must not stand in the way of the next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from bus.link import Item, ItemKind, StateBody, TaskProgress, TaskResult

APPLICATION = "Application"
COMPONENT = "Component"
SUBJECT_LENGTH = 400
_TYPE_KINDS = {
    "application": APPLICATION,
    "appproject": "AppProject",
    "project": "AppProject",
    "repository": "Repository",
    "repositorycredentials": "RepositoryCredentials",
    "cluster": "Cluster",
    "component": COMPONENT,
    "instances": "Instances",
    "repositorycertificate": "RepositoryCertificate",
    "gnupgkey": "GnuPGKey",
}


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """Whose items these are, and how far they are believed."""

    account_id: str
    agent_id: str
    agent: str
    environment: str
    region: str
    epoch: str
    quarantined: bool = False


class State(msgspec.Struct, frozen=True, kw_only=True):
    """One object as an agent says it is; `body` is None where it is gone."""

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
    """Items of one transaction, in order."""

    states: tuple[State, ...] = ()
    facts: tuple[FactRow, ...] = ()
    progress: tuple[TaskProgress, ...] = ()
    results: tuple[TaskResult, ...] = ()
    unreadable: int = 0


def read(items: Sequence[Item], now: datetime) -> Batch:
    """`now` stands in for times that cannot be read."""
    states: list[State] = []
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


def moment(text: str, otherwise: datetime) -> datetime:
    """RFC 3339 to a time in UTC."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return otherwise
    return found.astimezone(UTC) if found.tzinfo is not None else found.replace(tzinfo=UTC)


def clip(text: object, length: int) -> str:
    """As text no longer than its column."""
    return str(text or "")[:length]


def mapping(value: object) -> Mapping[str, Any]:
    """What others wrote may be anything: a mapping, or none."""
    return value if isinstance(value, Mapping) else {}


def listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def first(value: object) -> Any:
    items = listed(value)
    return items[0] if items else None


def _state(item: Item, now: datetime) -> State:
    body = None if item.deleted else msgspec.json.decode(item.body, type=StateBody)
    kind = body.kind if body is not None else _kind_of(item)
    if len(item.subject) > SUBJECT_LENGTH or not kind:
        raise ValueError("a subject that no table can hold, or no kind")
    return State(
        kind=clip(kind, 32),
        subject=item.subject,
        uid=clip(item.uid, 64),
        hash=clip(item.hash, 64),
        project=clip(item.project, 63),
        time=moment(item.time, now),
        sequence=item.sequence,
        body=body,
    )


def _kind_of(item: Item) -> str:
    """Of a tombstone: its body may say it, its type always does."""
    said = msgspec.json.decode(item.body, type=dict[str, Any]).get("kind", "")
    return str(said) or _TYPE_KINDS.get(item.type.partition(".")[0], "")


def _fact(item: Item, now: datetime) -> FactRow:
    return FactRow(
        event_id=clip(item.id, 36),
        type=clip(item.type, 80),
        subject=clip(item.subject, SUBJECT_LENGTH),
        project=clip(item.project, 63),
        correlation=clip(item.correlation, 36),
        time=moment(item.time, now),
        body=msgspec.json.decode(item.body, type=dict[str, Any]),
    )
