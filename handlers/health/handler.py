"""The handler of AssessApp and ResourcesApplied: sums up the health of an Application.

It returns HealthAssessed where the health changed, and StepOperation where an operation waits for
it. Where nothing changed it costs no call: the health of every object is in the index of live
objects, and the list of objects in the Application's status.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from bus.events import AssessApp, CompareApp, Event, ResourcesApplied, StepOperation
from bus.route import Retry
from bus.status import OperationPhase
from handlers.application import times
from handlers.application.application import Application
from handlers.application.status import ResourceStatus
from handlers.health.application_health import (
    aggregate,
    health_state,
    keys_of,
    members,
    with_health,
)
from handlers.health.cause import health_fact
from handlers.ports import (
    Apps,
    Clock,
    Clusters,
    ClusterUnreachableError,
    DestinationUnavailableError,
    DestinationUnknownError,
    LiveState,
    StatusWrite,
)

_AWAY = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AssessHandler:
    apps: Apps
    clusters: Clusters
    clock: Clock

    async def __call__(self, event: AssessApp | ResourcesApplied) -> Sequence[Event]:
        app = self.apps.get(event.app)
        if app is None or app.deleting or app.is_skipped:
            return ()
        waiting = (StepOperation(app=app.key),) if _waits(app) else ()
        if not app.status.resources:
            return waiting
        try:
            live = self.clusters.of(app.spec.destination).live
        except (DestinationUnavailableError, DestinationUnknownError):
            return waiting  # the last known health stays; a refresh says why it is of the past
        if app.status.resources_total:
            # The status has not all objects, so the health of the others is known to a comparison.
            return (*waiting, CompareApp(app=app.key))
        now = times.written(self.clock.now())
        health = aggregate(members(keys_of(app.status), live.get))
        after = health_state(app.status.health, health, now)
        resources = tuple(_with_health(app, live))
        if (after, resources) == (app.status.health, app.status.resources):
            return waiting
        status = replace(app.status, health=after, resources=resources)
        facts = health_fact(app, status, live)
        await self._write(app, StatusWrite(status=status, events=facts))
        return (*facts, *waiting)

    async def _write(self, app: Application, change: StatusWrite) -> None:
        try:
            await self.apps.write(app, change)
        except ClusterUnreachableError as error:
            raise Retry(str(error), after=_AWAY) from error


def _with_health(app: Application, live: LiveState) -> Iterator[ResourceStatus]:
    """Follow the health of those objects that have one in the status, as the settings asked."""
    for one in app.status.resources:
        yield one if one.health is None else with_health(one, live.get(one.key))


def _waits(app: Application) -> bool:
    """Whether an operation waits for health, rather than for its next try."""
    state = app.status.operation_state
    return state is not None and state.phase == OperationPhase.RUNNING and not state.finished_at
