"""Step: StepOperation -> ResourcesApplied, OperationFinished, or nothing.

Goes on as far as it can without waiting, then writes once and returns: a sync of one wave costs its
applies and one status write. An operation that waits for health is asked again by the room that
sees the health; one that waits for its next try comes back by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from msgspec.structs import replace

from bus.events import Event, RefreshApp, StepOperation
from bus.identity import ResourceKey
from bus.status import OperationPhase
from bus.verdicts import Retry
from handlers.application import history
from handlers.application.status import ApplicationStatus, OperationState
from handlers.compare.world import State, World
from handlers.compare.worlds.handler import Worlds
from handlers.control_plane.governance import is_from_control_plane
from handlers.health.handler import health_fact
from handlers.ports import (
    Apps,
    Clock,
    ClusterUnreachableError,
    StatusWrite,
)
from handlers.sync.apply.handler import Applier, Later, Orders
from handlers.sync.begin.handler import Begin
from handlers.sync.observed import observed
from handlers.sync.operation import (
    Act,
    Done,
    Finish,
    Pause,
    Restart,
    View,
    Wait,
    next_move,
    policy_of,
)
from handlers.sync.plan import plan
from handlers.sync.results import Stand, Standing
from handlers.sync.run import Run, applied, ended, terminating
from handlers.sync.standing import defines, standings
from handlers.sync.tasks import namespace_task, work_of
from handlers.sync.transitions import (
    finished,
    restarted,
    told,
    waiting,
)

_AWAY = 5.0
_PATIENCE = 10.0
"""Seconds in which an object may become acceptable: its namespace or definition is on its way."""
_AGAIN = 0.5

_TOUCHED = (State.CHANGED, State.MISSING, State.EXTRA)

Events = Sequence[Event]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    apps: Apps
    worlds: Worlds
    begin: Begin
    applier: Applier
    clock: Clock

    async def __call__(self, ask: StepOperation) -> Events:
        app = self.apps.get(ask.app)
        if app is None or app.deleting:
            return ()
        try:
            run = await self.begin.take_up(app)
            return await self._go(run) if isinstance(run, Run) else run
        except ClusterUnreachableError as error:
            raise Retry(str(error), after=_AWAY) from error

    # --- move by move -------------------------------------------------------------------------

    async def _go(self, run: Run) -> Events:
        while True:
            fresh = self.apps.get(run.app.key)
            if fresh is None:
                return run.facts
            run = terminating(run, fresh)
            run, view = await self._view(run)
            move = next_move(run.state, view)
            match move:
                case Act():
                    run = await self._act(run, move)
                case Restart():
                    run = replace(run, state=restarted(run.state))
                    if not run.revision:
                        run = await self._write(run, self._status(run, run.state))
                        return (*run.facts, RefreshApp(app=run.app.key))
                case Wait():
                    return await self._wait(run, move, view)
                case Pause():
                    raise Retry("waiting for the next try", after=move.seconds, say=run.facts)
                case Finish():
                    return await self._finish(run, move)
                case Done():
                    return run.facts
                case _:
                    assert_never(move)

    async def _view(self, run: Run) -> tuple[Run, View]:
        """The plan of what is left, and how stands what is done."""
        work = work_of(self._permitted(run), run.sync, run.options)
        space = run.app.spec.destination.namespace
        there = self.applier.live.get(ResourceKey("", "Namespace", "", space)) is not None
        governance = self.applier.governance
        may = governance.creates_namespace(run.app, run.state.operation, space)
        extra = namespace_task(space, run.world, run.options, exists=there or not may)
        steps = plan((*work.tasks, *extra))
        run = replace(run, state=told(run.state, work.settled)) if work.settled else run
        standing: Mapping[ResourceKey, Standing] = {}
        if not run.sync.dry_run:
            standing = standings(steps, self.applier.live.get, self.applier.live.kind)
        return run, View(steps=steps, standing=standing, now=self.clock.now())

    def _permitted(self, run: Run) -> World:
        """The control plane's own operation changes nothing beyond what its owner allows it."""
        if not is_from_control_plane(run.state.operation):
            return run.world
        touched = {one.key for one in run.world.of(*_TOUCHED)}
        return run.world.denying(self.applier.governance.beyond(touched))

    async def _act(self, run: Run, act: Act) -> Run:
        elapsed = (self.clock.now() - run.began).total_seconds()
        orders = Orders(
            app=run.app,
            options=run.options,
            dry_run=run.sync.dry_run,
            patient=elapsed < _PATIENCE,
        )
        carried = await self.applier.carry_out(act, orders)
        run = replace(run, state=told(run.state, carried.results))
        if carried.results:
            run = run.say(applied(run, act, carried.results))
        if carried.later:
            await self._come_back(run, carried.later)
        if any(defines(task) and task.changed for task in act.tasks) and not orders.dry_run:
            await self.applier.cluster.refresh_kinds()
        world = await self.worlds.read(run.app)
        return replace(run, world=world or run.world)

    async def _come_back(self, run: Run, later: Sequence[Later]) -> None:
        first = later[0]
        message = f"waiting for {first.task.key.kind} {first.task.key.name}: {first.message}"
        run = await self._write(run, self._status(run, waiting(run.state, message)))
        raise Retry(message, after=_AGAIN, say=run.facts)

    async def _wait(self, run: Run, move: Wait, view: View) -> Events:
        """Written once; the ask for the next step comes with the next change of an object.

        Definitions belong to nobody, so nobody asks for their sake: those are looked at again.
        """
        state = waiting(run.state, move.message)
        run = await self._write(run, self._status(run, state))
        unserved = any(
            defines(task) and view.standing[task.key].stand is Stand.WAITING
            for step in view.steps
            for task in step.tasks
        )
        if unserved:
            await self.applier.cluster.refresh_kinds()
            raise Retry(move.message, after=_AGAIN, say=run.facts)
        return run.facts

    async def _finish(self, run: Run, end: Finish) -> Events:
        now = self.clock.now()
        state = finished(run.state, end, now)
        status = self._status(run, state)
        if not OperationPhase(state.phase).completed:
            run = await self._write(run, status)
            wait = policy_of(state).wait(state.retry_count)
            raise Retry(state.message, after=wait, say=run.facts)
        finish = ended(run, state, now)
        run = await self._write(run.say(finish), status)
        again = run.resumed or not finish.automated
        follow = (RefreshApp(app=run.app.key),) if again else ()
        more = (StepOperation(app=run.app.key),) if self._is_asked_again(run) else ()
        return (*run.facts, *follow, *more)

    # --- what is written ----------------------------------------------------------------------

    def _status(self, run: Run, state: OperationState) -> ApplicationStatus:
        """A dry run leaves no trace but its own results."""
        if run.sync.dry_run or run.revision != run.world.record.revision:
            return replace(run.app.status, operation_state=state)
        failed = state.phase in (OperationPhase.FAILED, OperationPhase.ERROR)
        error = state.message if failed else ""
        project = self.apps.project(run.app.spec.project)
        status = observed(run.app, project, run.world, self.clock.now(), error)
        status = replace(status, operation_state=state)
        if state.phase == OperationPhase.SUCCEEDED and not run.sync.resources:
            kept = history.recorded(status.history, state, run.app.spec)
            return replace(status, history=kept)
        return status

    async def _write(self, run: Run, status: ApplicationStatus) -> Run:
        """The run that also says what this write changes."""
        run = run.say(*health_fact(run.app, status, self.worlds.live))
        ours = run.taken is not None and run.app.operation == run.taken
        change = StatusWrite(status=status, clear_operation=ours, says=run.facts)
        await self.apps.write(run.app, change)
        return run

    def _is_asked_again(self, run: Run) -> bool:
        fresh = self.apps.get(run.app.key)
        return fresh is not None and fresh.operation is not None
