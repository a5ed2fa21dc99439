"""Assess: AssessApp, ResourcesApplied -> HealthAssessed, and StepOperation if an operation waits.

Costs no call where nothing changed: the health of every object is in the index, the list of them in
the Application's status.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from bus.events import AssessApp, Event, HealthAssessed, ResourcesApplied, StepOperation
from bus.status import OperationPhase, SyncStatus
from bus.verdicts import Retry
from handlers.application import times
from handlers.application.application import Application
from handlers.application.status import ApplicationStatus
from handlers.health.aggregate import aggregate
from handlers.health.cause import ILL, OwnerGraph, cause_of, deepest_ill
from handlers.health.members import health_state, keys_of, members, status_of
from handlers.ports import Apps, Clock, ClusterUnreachableError, LiveState, StatusWrite

_AWAY = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Assess:
    apps: Apps
    live: LiveState
    clock: Clock

    async def __call__(self, event: AssessApp | ResourcesApplied) -> Sequence[Event]:
        app = self.apps.get(event.app)
        if app is None or app.deleting:
            return ()
        waiting = (StepOperation(app=app.key),) if _waits(app) else ()
        if not app.status.resources:
            return waiting
        now = times.written(self.clock.now())
        health = aggregate(members(keys_of(app.status), self.live.get))
        after = health_state(app.status.health, health, now)
        if after == app.status.health:
            return waiting
        status = replace(app.status, health=after)
        said = health_fact(app, status, self.live)
        await self._write(app, StatusWrite(status=status, says=said))
        return (*said, *waiting)

    async def _write(self, app: Application, change: StatusWrite) -> None:
        try:
            await self.apps.write(app, change)
        except ClusterUnreachableError as error:
            raise Retry(str(error), after=_AWAY) from error


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


def _waits(app: Application) -> bool:
    """An operation that waits for health, not for its next try."""
    state = app.status.operation_state
    return state is not None and state.phase == OperationPhase.RUNNING and not state.finished_at
