"""The deepest ill object of an application, found by its owners. Pure.

From the objects that Git has and that are as ill as the application, the way goes down to the
worst of what each owns, until nothing below is ill: Deployment, ReplicaSet, Pod. What the deepest
object says of itself is the cause; an object that says nothing leaves the word to its health.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from bus.cause import Cause
from bus.identity import ResourceKey
from bus.status import HealthStatus
from handlers.application.status import ApplicationStatus
from handlers.health.aggregate import BEST_TO_WORST
from handlers.health.members import keys_of, member
from handlers.ports import LiveObject

_DEEPEST = 12
ILL = frozenset(HealthStatus) - {HealthStatus.HEALTHY, HealthStatus.SUSPENDED}
_SEVERITY = {status: rank for rank, status in enumerate(BEST_TO_WORST)}


class OwnerGraph(Protocol):
    """Of the live state: objects, and who belongs to whom."""

    def get(self, key: ResourceKey) -> LiveObject | None: ...
    def owned_by(self, uid: str) -> tuple[LiveObject, ...]: ...


def deepest_ill(status: ApplicationStatus, graph: OwnerGraph) -> LiveObject | None:
    """None where no object that counts for the application's health is ill."""
    roots = (live for key in keys_of(status) if (live := graph.get(key)) is not None)
    found = _worst(live for live in roots if not member(live.key, live).ignored)
    for _ in range(_DEEPEST):
        below = _worst(graph.owned_by(found.uid)) if found is not None else None
        if below is None:
            return found
        found = below
    return found


def cause_of(live: LiveObject) -> Cause:
    """What an ill object says of itself, else what its health says."""
    symptom = live.symptom
    return Cause(
        object=str(live.key),
        health=live.health or HealthStatus.UNKNOWN,
        reason=symptom.reason if symptom else "",
        message=(symptom.message if symptom else "") or live.health_message,
        since=symptom.since if symptom else "",
    )


def _worst(lives: Iterable[LiveObject]) -> LiveObject | None:
    """Of equally ill objects one with a reason, then the first by name: the answer is stable."""
    ill = [live for live in lives if _is_ill(live)]
    return min(ill, key=_rank, default=None)


def _is_ill(live: LiveObject) -> bool:
    return live.health in ILL and not live.deleting


def _rank(live: LiveObject) -> tuple[int, bool, ResourceKey]:
    return -_SEVERITY[live.health or HealthStatus.UNKNOWN], live.symptom is None, live.key
