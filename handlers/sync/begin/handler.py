"""Begin: which operation an application's next step belongs to, and in which world.

The one under way comes first, then the one that a person asked for, then what the policy wants. A
desired state that is not there yet is asked for, and the comparison that follows leads back here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from bus.events import Event, RefreshApp
from bus.identity import Revision
from bus.status import ConditionType, OperationPhase
from handlers.application import times
from handlers.application.application import Application
from handlers.application.conditions import blocking
from handlers.application.spec import Operation
from handlers.application.status import OperationState
from handlers.application.sync_windows import manual_sync_problem
from handlers.application.validate import operation_problem
from handlers.compare.world import World
from handlers.compare.worlds.handler import Worlds
from handlers.ports import Apps, Clock, Git, RepositoryError, StatusWrite
from handlers.render.wanted import as_wanted
from handlers.sync.decide import Start, decide
from handlers.sync.outlook import outlook
from handlers.sync.run import Run, after_failure, started
from handlers.sync.transitions import (
    begun,
    failed_to_start,
    is_superseded,
    repinned,
    superseded,
    under_way,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Begin:
    apps: Apps
    worlds: Worlds
    git: Git
    clock: Clock

    async def take_up(self, app: Application) -> Run | Sequence[Event]:
        """The operation under way, else the one wanted, else the one that the policy wants."""
        world = await self.worlds.read(app)
        if world is None:
            return (RefreshApp(app=app.key),)
        state = under_way(app)
        if state is not None and not is_superseded(state, world.record.revision):
            return self._resume(app, state, world)
        if app.operation is not None:
            return await self._by_hand(app, app.operation, world)
        return await self._by_policy(app, state, world)

    def _resume(
        self, app: Application, state: OperationState, world: World
    ) -> Run | Sequence[Event]:
        if state.sync_result is None or not state.sync_result.revision:
            state = repinned(state, world.record.revision)
        began = times.read(state.started_at) or self.clock.now()
        run = Run(app=app, state=state, world=world, began=began, resumed=True)
        needed = run.revision == world.record.revision
        ending = state.phase == OperationPhase.TERMINATING or state.finished_at
        return run if needed or ending else (RefreshApp(app=app.key),)

    async def _by_policy(
        self, app: Application, failed: OperationState | None, world: World
    ) -> Run | Sequence[Event]:
        """`failed` waited for its next try when a newer revision came: that is tried instead."""
        ends: tuple[Event, ...] = ()
        known = app
        if failed is not None:
            state = superseded(failed, world.record.revision)
            known = replace(app, status=replace(app.status, operation_state=state))
            ends = after_failure(app, state)[:1]
        project = self.apps.project(app.spec.project)
        answer = decide(known, outlook(app, project, world), self.clock.now())
        if isinstance(answer, Start):
            run = self._begin(app, answer.operation, world, world.record.revision)
            return replace(run, facts=(*ends, *run.facts))
        await self.apps.write(app, StatusWrite(status=known.status, says=ends))
        return ends

    async def _by_hand(
        self, app: Application, wanted: Operation, world: World
    ) -> Run | Sequence[Event]:
        problem = operation_problem(app, wanted) or self._window_problem(app, wanted)
        if problem:
            return await self._cannot_start(app, problem, final=True)
        revision = world.record.revision
        source = as_wanted(app).source
        if wanted.sync and wanted.sync.revision and source:
            try:
                repository = self.git.access(source.repo_url, app.spec.project)
                revision = await self.git.resolve(repository, wanted.sync.revision)
            except RepositoryError as error:
                return await self._cannot_start(app, error.message)
        if revision != world.record.revision:
            return (RefreshApp(app=app.key),)
        blocks = blocking(app.status.conditions)
        if blocks:
            said = f"{blocks[0].type}: {blocks[0].message}"
            final = blocks[0].type == ConditionType.INVALID_SPEC_ERROR
            return await self._cannot_start(app, said, final=final)
        run = self._begin(app, wanted, world, revision)
        return replace(run, taken=wanted)

    def _window_problem(self, app: Application, wanted: Operation) -> str:
        """A dry run changes nothing, at any time."""
        if wanted.sync is not None and wanted.sync.dry_run:
            return ""
        return manual_sync_problem(app, self.apps.project(app.spec.project))

    def _begin(
        self, app: Application, operation: Operation, world: World, revision: Revision
    ) -> Run:
        now = self.clock.now()
        state = begun(app, operation, revision, now)
        run = Run(app=app, state=state, world=world, began=now)
        return run.say(started(run))

    async def _cannot_start(
        self, app: Application, message: str, *, final: bool = False
    ) -> Sequence[Event]:
        """`final`: it is not tried again whatever its retry policy says."""
        state = failed_to_start(app, message, self.clock.now(), final=final)
        if state is None:
            return ()
        change = replace(app.status, operation_state=state)
        said = after_failure(app, state)
        await self.apps.write(app, StatusWrite(status=change, clear_operation=True, says=said))
        return said
