"""The health of an application: the worst of its objects, as Argo CD adds them up. Pure.

A missing object does not worsen it (that is what OutOfSync says); only where there should be
objects and not one is there, the application is Missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec
from msgspec.structs import replace

from bus.identity import ResourceKey
from bus.status import HealthStatus
from handlers.application.status import ApplicationStatus, HealthState, ResourceStatus
from handlers.health.states import Health
from handlers.manifest.access import Manifest, annotation
from handlers.manifest.hooks import is_hook
from handlers.ports import LiveObject

IGNORE_HEALTHCHECK = "argocd.argoproj.io/ignore-healthcheck"

BEST_TO_WORST = (
    HealthStatus.HEALTHY,
    HealthStatus.SUSPENDED,
    HealthStatus.PROGRESSING,
    HealthStatus.MISSING,
    HealthStatus.DEGRADED,
    HealthStatus.UNKNOWN,
)
_BADNESS = {status: rank for rank, status in enumerate(BEST_TO_WORST)}
_NAMED = 3


class HealthMember(msgspec.Struct, frozen=True, kw_only=True):
    """One top-level object of an application; `health` is None for a kind without health."""

    key: ResourceKey
    live: bool
    health: Health | None = None
    ignored: bool = False
    """Does not count: a hook, or annotated to be ignored. See `is_ignored`."""


def is_ignored(manifest: Manifest) -> bool:
    """Whether this object is no part of its application's health."""
    return is_hook(manifest) or annotation(manifest, IGNORE_HEALTHCHECK) == "true"


def worse(one: HealthStatus, other: HealthStatus) -> bool:
    return _BADNESS[one] > _BADNESS[other]


def aggregate(members: Iterable[HealthMember]) -> Health:
    """The worst health of all that count, and up to three objects that caused it."""
    present = [member for member in members if not member.ignored]
    if present and not any(member.live for member in present):
        return Health(HealthStatus.MISSING, "none of the objects is in the cluster")
    counted = [(m.key, m.health.status) for m in present if m.health is not None and _counts(m)]
    worst = max((s for _, s in counted), key=_BADNESS.__getitem__, default=HealthStatus.HEALTHY)
    if worst is HealthStatus.HEALTHY:
        return Health(worst)
    return Health(worst, _caused_by(sorted(key for key, status in counted if status is worst)))


def _counts(member: HealthMember) -> bool:
    """A child Application without a health yet (Missing, Unknown) does not worsen its parent."""
    if not member.live or member.health is None:
        return False
    child = member.key.group == "argoproj.io" and member.key.kind == "Application"
    return not (child and member.health.status in (HealthStatus.MISSING, HealthStatus.UNKNOWN))


def _caused_by(keys: Sequence[ResourceKey]) -> str:
    named = ", ".join(f"{key.kind} {key.name}" for key in keys[:_NAMED])
    more = len(keys) - _NAMED
    return f"Caused by {named}" + (f" and {more} more" if more > 0 else "")


_MARK = IGNORE_HEALTHCHECK.encode()


def members(
    keys: Iterable[ResourceKey], get: Callable[[ResourceKey], LiveObject | None]
) -> tuple[HealthMember, ...]:
    return tuple(member(key, get(key)) for key in keys)


def member(key: ResourceKey, live: LiveObject | None) -> HealthMember:
    if live is None:
        return HealthMember(key=key, live=False)
    health = Health(live.health, live.health_message) if live.health else None
    ignored = _MARK in live.body and is_ignored(live.manifest)
    return HealthMember(key=key, live=True, health=health, ignored=ignored)


def with_health(one: ResourceStatus, live: LiveObject | None) -> ResourceStatus:
    """Put the health of the live object into its entry of the status; a hook has none there."""
    if one.hook:
        return one
    status = HealthStatus.MISSING if live is None else live.health
    message = live.health_message if live is not None else ""
    health = HealthState(status=status, message=message) if status is not None else None
    return replace(one, health=health)


def keys_of(status: ApplicationStatus) -> tuple[ResourceKey, ...]:
    """The objects that Git has, as the last comparison wrote them."""
    return tuple(one.key for one in status.resources if not (one.hook or one.requires_pruning))


def health_state(before: HealthState, health: Health, now: str) -> HealthState:
    """The health as status; its transition time moves only when the health status does."""
    moved = before.status != health.status
    since = now if moved else before.last_transition_time
    return HealthState(status=health.status, message=health.message, last_transition_time=since)


def status_of(state: HealthState) -> HealthStatus:
    try:
        return HealthStatus(state.status)
    except ValueError:
        return HealthStatus.UNKNOWN
