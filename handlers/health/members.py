"""Which objects count for an application's health, as the index of live objects has them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from bus.identity import ResourceKey
from bus.status import HealthStatus
from handlers.application.status import ApplicationStatus, HealthState
from handlers.health.aggregate import IGNORE_HEALTHCHECK, Member, is_ignored
from handlers.health.states import Health
from handlers.ports import LiveObject

_MARK = IGNORE_HEALTHCHECK.encode()


def members(
    keys: Iterable[ResourceKey], get: Callable[[ResourceKey], LiveObject | None]
) -> tuple[Member, ...]:
    return tuple(member(key, get(key)) for key in keys)


def member(key: ResourceKey, live: LiveObject | None) -> Member:
    if live is None:
        return Member(key=key, live=False)
    health = Health(live.health, live.health_message) if live.health else None
    ignored = _MARK in live.body and is_ignored(live.manifest)
    return Member(key=key, live=True, health=health, ignored=ignored)


def keys_of(status: ApplicationStatus) -> tuple[ResourceKey, ...]:
    """The objects that Git has, as the last comparison wrote them."""
    return tuple(
        ResourceKey(one.group, one.kind, one.namespace, one.name)
        for one in status.resources
        if not (one.hook or one.requires_pruning)
    )


def health_state(before: HealthState, health: Health, now: str) -> HealthState:
    """`before` itself where nothing changed; its time moves with the status only."""
    moved = before.status != health.status
    since = now if moved else before.last_transition_time
    return HealthState(status=health.status, message=health.message, last_transition_time=since)


def status_of(state: HealthState) -> HealthStatus:
    try:
        return HealthStatus(state.status)
    except ValueError:
        return HealthStatus.UNKNOWN
