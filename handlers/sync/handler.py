"""Decide: Compared -> StepOperation, or SyncSkipped. Abandon: RenderFailed -> OperationFinished.

A comparison becomes a sync, or a status that says why not; the status is written only where it
says something new.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from bus.events import Compared, Event, RefreshApp, RenderFailed, StepOperation, SyncSkipped
from bus.status import Reason, SyncStatus
from bus.verdicts import Retry
from handlers.application.application import Application
from handlers.application.status import ApplicationStatus
from handlers.compare.world import World
from handlers.compare.worlds.handler import Worlds
from handlers.health.handler import health_fact
from handlers.ports import Apps, Clock, ClusterUnreachableError, Renders, StatusWrite
from handlers.sync.decide import Skip, Start, decide, is_operating
from handlers.sync.observed import observed
from handlers.sync.operation import sync_result
from handlers.sync.outlook import outlook
from handlers.sync.run import after_failure
from handlers.sync.transitions import failed_to_start, under_way

_AWAY = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Decide:
    apps: Apps
    worlds: Worlds
    clock: Clock

    async def __call__(self, fact: Compared) -> Sequence[Event]:
        app = self.apps.get(fact.app)
        if app is None or app.deleting:
            return ()
        if is_operating(app):
            return (StepOperation(app=app.key),)
        try:
            world = await self.worlds.read(app)
            if world is None:
                return (RefreshApp(app=app.key),)
            return await self._decide(app, world)
        except ClusterUnreachableError as error:
            raise Retry(str(error), after=_AWAY) from error

    async def _decide(self, app: Application, world: World) -> Sequence[Event]:
        project = self.apps.project(app.spec.project)
        answer = decide(app, outlook(app, project, world), self.clock.now())
        if isinstance(answer, Start):
            return (StepOperation(app=app.key),)
        status = self._status(app, world, answer)
        said = (*health_fact(app, status, self.worlds.live), *_skipped(app, world, answer))
        await self.apps.write(app, StatusWrite(status=status, says=said))
        if answer.look_again:
            raise Retry(answer.message, after=answer.look_again, say=said)
        return said

    def _status(self, app: Application, world: World, answer: Skip) -> ApplicationStatus:
        """While the desired state is not known, the last known status stays."""
        if answer.reason is Reason.CONDITIONS_BLOCK:
            return app.status
        error = answer.message if answer.is_error else ""
        project = self.apps.project(app.spec.project)
        return observed(app, project, world, self.clock.now(), error)


def _skipped(app: Application, world: World, answer: Skip) -> tuple[SyncSkipped, ...]:
    """Nothing is said where nothing was to be done."""
    if world.status is SyncStatus.SYNCED:
        return ()
    return (
        SyncSkipped(
            app=app.key,
            project=app.spec.project,
            reason=answer.reason,
            message=answer.message,
            revision=world.record.revision,
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Abandon:
    """An operation whose desired state cannot be rendered fails, and says why.

    One that was rendered before goes on: it does not need the repository any more.
    """

    apps: Apps
    renders: Renders
    clock: Clock

    async def __call__(self, fact: RenderFailed) -> Sequence[Event]:
        app = self.apps.get(fact.app)
        if app is None or app.deleting or self._is_rendered(app):
            return ()
        final = fact.reason is Reason.INVALID_SPEC
        state = failed_to_start(app, fact.message, self.clock.now(), final=final)
        if state is None:
            return ()
        status = replace(app.status, operation_state=state)
        said = after_failure(app, state)
        change = StatusWrite(status=status, clear_operation=True, says=said)
        try:
            await self.apps.write(app, change)
        except ClusterUnreachableError as error:
            raise Retry(str(error), after=_AWAY) from error
        return said

    def _is_rendered(self, app: Application) -> bool:
        state, record = under_way(app), self.renders.recall(app.key)
        if state is None or record is None:
            return False
        return sync_result(state).revision == record.revision
