"""Cause: the deepest ill object of an application, and the fact that its health has changed. Pure.

Every handler that writes a status calls `health_fact` with it, so the fact is published whichever
handler saw the change first, and only once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from bus.events import HealthAssessed
from bus.identity import ResourceKey
from bus.status import Cause, HealthStatus, SyncStatus
from handlers.application.application import Application
from handlers.application.status import ApplicationStatus
from handlers.health.application_health import BEST_TO_WORST, keys_of, member, status_of
from handlers.ports import LiveObject

_DEEPEST = 12
ILL = frozenset(HealthStatus) - {HealthStatus.HEALTHY, HealthStatus.SUSPENDED}
_SEVERITY = {status: rank for rank, status in enumerate(BEST_TO_WORST)}


class OwnerGraph(Protocol):
    """The part of the live state that the search needs: objects and their owners."""

    def get(self, key: ResourceKey) -> LiveObject | None: ...
    def owned_by(self, uid: str) -> tuple[LiveObject, ...]: ...


def deepest_ill(status: ApplicationStatus, graph: OwnerGraph) -> LiveObject | None:
    """Find the deepest ill object; None where no object that counts is ill."""
    roots = (live for key in keys_of(status) if (live := graph.get(key)) is not None)
    found = _worst(live for live in roots if not member(live.key, live).ignored)
    for _ in range(_DEEPEST):
        below = _worst(graph.owned_by(found.uid)) if found is not None else None
        if below is None:
            return found
        found = below
    return found


def cause_of(live: LiveObject) -> Cause:
    """The cause in an ill object: its symptom, else its health message."""
    symptom = live.symptom
    return Cause(
        object=str(live.key),
        health=live.health or HealthStatus.UNKNOWN,
        reason=symptom.reason if symptom else "",
        message=(symptom.message if symptom else "") or live.health_message,
        since=symptom.since if symptom else "",
    )


def _worst(lives: Iterable[LiveObject]) -> LiveObject | None:
    """The worst object; of equally ill ones one with a symptom, then the first by name."""
    ill = [live for live in lives if _is_ill(live)]
    return min(ill, key=_rank, default=None)


def _is_ill(live: LiveObject) -> bool:
    return live.health in ILL and not live.deleting


def _rank(live: LiveObject) -> tuple[int, bool, ResourceKey]:
    return -_SEVERITY[live.health or HealthStatus.UNKNOWN], live.symptom is None, live.key


def health_fact(
    app: Application, after: ApplicationStatus, live: OwnerGraph
) -> tuple[HealthAssessed, ...]:
    """The transition from `app`'s health to that of `after`, if it is one."""
    if app.status.health.status == after.health.status:
        return ()
    ill = deepest_ill(after, live) if status_of(after.health) in ILL else None
    return (
        HealthAssessed(
            app=app.key,
            project=app.spec.project,
            status=status_of(after.health),
            before=status_of(app.status.health),
            message=after.health.message,
            sync=SyncStatus(after.sync.status or SyncStatus.UNKNOWN),
            cause=cause_of(ill) if ill is not None else None,
        ),
    )
