"""The fleet as it was at a moment: what was known, and the facts up to it, folded. Pure."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from bus.events import AppDeleted, Compared, HealthAssessed
from bus.events.event import Event
from bus.events.registry import wire_type
from bus.status import HealthStatus, SyncStatus
from service.history.said import Said

TYPES = tuple(wire_type(it) for it in (Compared, HealthAssessed, AppDeleted))

Key = tuple[str, str]
"""An agent's id and `namespace/name`."""


class Was(msgspec.Struct, frozen=True, kw_only=True):
    agent: str
    subject: str
    sync: str = SyncStatus.UNKNOWN.value
    health: str = HealthStatus.UNKNOWN.value
    revision: str = ""


def fleet_at(known: Iterable[Was], facts: Iterable[Said]) -> tuple[Was, ...]:
    """`known`: what has not changed since before the moment; `facts`: none later than it."""
    fleet: dict[Key, Was] = {(it.agent, it.subject): it for it in known}
    for one in sorted(facts, key=lambda it: it.order):
        key = one.agent, one.subject
        if isinstance(one.fact, AppDeleted):
            fleet.pop(key, None)
            continue
        before = fleet.get(key) or Was(agent=one.agent, subject=one.subject)
        fleet[key] = _after(before, one.fact)
    return tuple(fleet[key] for key in sorted(fleet))


def _after(was: Was, fact: Event) -> Was:
    match fact:
        case Compared():
            return replace(was, sync=fact.status.value, revision=fact.revision)
        case HealthAssessed():
            return replace(was, health=fact.status.value)
        case _:
            return was
