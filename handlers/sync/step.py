"""The handler of StepOperation: carries the operation under way as far as it goes without waiting.

`OperationStarter` says which operation, `next_move` what to do; this handler does it, move by move,
then writes the status once and returns ResourcesApplied, OperationFinished or nothing. So a sync of
one wave costs its applies and one status write. Waiting is returning: the health handler asks for
the next step when it sees the health, and a retry brings the same message back after its delay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import assert_never

from msgspec.structs import replace

from bus.events import Event, RefreshApp, StepOperation
from bus.route import Retry
from bus.status import OperationPhase
from handlers.comparison.reader import ComparisonReader
from handlers.control_plane.governance import named
from handlers.ports import (
    Apps,
    Clock,
    DestinationSession,
    DestinationUnavailableError,
    DestinationUnknownError,
    UnavailableError,
)
from handlers.sync.acceptance_window import AcceptanceWindow
from handlers.sync.applier import Applier, ApplyRequest, UnresolvedObject
from handlers.sync.hook_cleaner import HookCleaner
from handlers.sync.move import (
    Act,
    CleanHooks,
    Done,
    Finish,
    OperationView,
    Restart,
    RetryDelay,
    Wait,
)
from handlers.sync.observed_status import defines
from handlers.sync.operation import next_move, policy_of, results_of
from handlers.sync.operation_info import operation_id
from handlers.sync.operation_planner import OperationPlanner
from handlers.sync.operation_results import READY, ProgressState
from handlers.sync.operation_starter import OperationStarter
from handlers.sync.operation_transitions import (
    finished,
    not_cleaned,
    restarted,
    waiting,
    with_results,
)
from handlers.sync.resource_selection import in_words, selects_nothing
from handlers.sync.step_record import StepRecord
from handlers.sync.step_run import StepRun, applied, ended, terminating

_AWAY = 5.0
_AGAIN = 0.5
_AGAIN_GOING = 2.0
"""Finalizers take their time; no watch tells of the end of an object that is not tracked."""

Events = Sequence[Event]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepHandler:
    apps: Apps
    comparisons: ComparisonReader
    starter: OperationStarter
    planner: OperationPlanner
    applier: Applier
    record: StepRecord
    clock: Clock
    _acceptance: AcceptanceWindow = field(default_factory=AcceptanceWindow, init=False)

    async def __call__(self, ask: StepOperation) -> Events:
        app = self.apps.get(ask.app)
        if app is None or app.deleting or app.is_skipped:
            return ()
        try:
            run = await self.starter.next(app)
            return await self._go(run) if isinstance(run, StepRun) else run
        except DestinationUnknownError as error:
            await self.starter.cannot_start(app, error.message, final=True)
            return (RefreshApp(app=app.key),)
        except DestinationUnavailableError:
            return (RefreshApp(app=app.key),)  # which writes the condition, and waits
        except UnavailableError as error:
            raise Retry(str(error), after=_AWAY) from error

    # --- move by move -------------------------------------------------------------------------

    async def _go(self, run: StepRun) -> Events:
        while True:
            fresh = self.apps.get(run.app.key)
            if fresh is None:
                return run.facts
            run = terminating(run, fresh)
            run, view = self.planner.look(run)
            move = next_move(run.state, view)
            match move:
                case Act() | CleanHooks() | Restart():
                    carried = await self._carry_out(run, move, view)
                    if not isinstance(carried, StepRun):
                        return carried
                    run = carried
                case Wait():
                    return await self._wait(run, move, view)
                case RetryDelay():
                    raise Retry("waiting for the next try", after=move.seconds, emit=run.facts)
                case Finish():
                    return await self._finish(run, move)
                case Done():
                    return run.facts
                case _:
                    assert_never(move)

    async def _carry_out(
        self, run: StepRun, move: Act | CleanHooks | Restart, view: OperationView
    ) -> StepRun | Events:
        """Return the run to go on with, or the events where it stops here."""
        match move:
            case Act() if view.has_hooks and run.is_to_be_written:
                # A hook that was applied must be known again after a crash: by this operation.
                return await self.record.write(run, run.state)
            case Act():
                return await self._act(run, move)
            case CleanHooks():
                return await self._clean(run, move)
            case Restart():
                run = replace(run, state=restarted(run.state))
                if run.revisions:
                    return run
                run = await self.record.write(run, run.state)
                return (*run.facts, RefreshApp(app=run.app.key))

    async def _act(self, run: StepRun, act: Act) -> StepRun:
        operation, now = operation_id(run.state), self.clock.now()
        session = self._session(run)
        request = ApplyRequest(
            app=run.app,
            session=session,
            writer=self.comparisons.writer(run.app),
            options=run.options,
            dry_run=run.sync.dry_run,
            may_retry=self._acceptance.is_open(operation, now),
        )
        outcome = await self.applier.apply(act, request)
        refused = any(not one.is_going for one in outcome.unresolved)
        self._acceptance.note(operation, now, refused=refused)
        run = replace(run, state=with_results(run.state, (*act.results, *outcome.results)))
        if outcome.results:
            run = run.emit(applied(run, act, outcome.results))
        if outcome.unresolved:
            await self._come_back(run, outcome.unresolved)
        if any(defines(task) and task.changed for task in act.tasks) and not request.dry_run:
            await request.writer.refresh_kinds()
        comparison = await self.comparisons.read(run.app)
        return replace(run, comparison=comparison or run.comparison)

    async def _clean(self, run: StepRun, move: CleanHooks) -> StepRun | Events:
        """Write first how the hooks ended: of a hook that is gone it cannot be seen any more."""
        run = replace(run, state=with_results(run.state, move.results))
        run = await self.record.write(run, run.state)
        propagation = run.options.prune_propagation.value
        cleaner = HookCleaner(writer=self.comparisons.writer(run.app))
        denied = self.planner.denied(run, move.touched)
        move = move.without(denied)
        refused = await cleaner.clean(move.release, move.delete, propagation)
        if refused is None and denied:
            return await self._finish(run, not_cleaned(run.state, named(denied)))
        if refused is None:
            return run
        if not refused.permanent:
            raise Retry(refused.message, after=_AGAIN, emit=run.facts)
        return await self._finish(run, not_cleaned(run.state, refused.message))

    async def _come_back(self, run: StepRun, unresolved: Sequence[UnresolvedObject]) -> None:
        first = unresolved[0]
        message = f"waiting for {first.task.key.kind} {first.task.key.name}: {first.message}"
        run = await self.record.write(run, waiting(run.state, message))
        after = _AGAIN_GOING if all(one.is_going for one in unresolved) else _AGAIN
        raise Retry(message, after=after, emit=run.facts)

    async def _wait(self, run: StepRun, move: Wait, view: OperationView) -> Events:
        """Write why the operation waits; the next change of one of its objects asks again.

        No watch tells when discovery serves a new kind, so an operation that waits for a
        CustomResourceDefinition asks discovery itself, after a short delay.
        """
        state = waiting(run.state, move.message)
        run = await self.record.write(run, state)
        unserved = any(
            defines(task) and view.progress.get(task.key, READY).state is ProgressState.WAITING
            for step in view.steps
            for task in step.tasks
        )
        if unserved:
            await self.comparisons.writer(run.app).refresh_kinds()
            raise Retry(move.message, after=_AGAIN, emit=run.facts)
        return run.facts

    async def _finish(self, run: StepRun, end: Finish) -> Events:
        now = self.clock.now()
        state = finished(run.state, end, now)
        if state.phase == OperationPhase.SUCCEEDED and _selects_nothing(run):
            named = in_words(run.sync.resources)
            text = f"{state.message}; but no object of {run.app.key} is selected by {named}"
            state = replace(state, message=text)
        if not OperationPhase(state.phase).completed:
            run = await self.record.write(run, state)
            wait = policy_of(state).wait(state.retry_count)
            raise Retry(state.message, after=wait, emit=run.facts)
        finish = ended(run, state, now)
        run = await self.record.write(run.emit(finish), state)
        again = run.resumed or not finish.automated
        follow = (RefreshApp(app=run.app.key),) if again else ()
        more = (StepOperation(app=run.app.key),) if self._is_asked_again(run) else ()
        return (*run.facts, *follow, *more)

    def _session(self, run: StepRun) -> DestinationSession:
        return self.comparisons.clusters.of(run.app.spec.destination)

    def _is_asked_again(self, run: StepRun) -> bool:
        fresh = self.apps.get(run.app.key)
        return fresh is not None and fresh.operation is not None


def _selects_nothing(run: StepRun) -> bool:
    """Whether the operation names objects that the application has not; pruned ones it had."""
    compared = (pair.key for pair in run.comparison.pairs)
    done = (one.key for one in results_of(run.state))
    return selects_nothing((*compared, *done), run.sync.resources)
