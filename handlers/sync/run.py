"""One call of the step room as a value: the operation, the world, and what is to be said."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import msgspec
from msgspec.structs import replace

from bus.events import (
    Event,
    OperationFinished,
    OperationStarted,
    RefreshApp,
    ResourcesApplied,
    StepOperation,
)
from bus.identity import Revision
from bus.status import OperationPhase, ResultStatus
from handlers.application.application import Application
from handlers.application.history import kind_of
from handlers.application.spec import Operation, SyncOperation
from handlers.application.status import OperationState, ResourceResult
from handlers.compare.world import World
from handlers.manifest.options import SyncOptions
from handlers.sync.operation import Act, sync_result
from handlers.sync.results import count, key_of, outcomes
from handlers.sync.tasks import options_of
from handlers.sync.transitions import operation_id

_DURATION_DIGITS = 3
_LONGEST = 1000


class Run(msgspec.Struct, frozen=True, kw_only=True):
    app: Application
    state: OperationState
    world: World
    began: datetime
    taken: Operation | None = None
    """The `.operation` that this run took over, to be cleared with the first write."""
    resumed: bool = False
    """Whether earlier calls have worked on it."""
    facts: tuple[Event, ...] = ()

    @property
    def sync(self) -> SyncOperation:
        return self.state.operation.sync or SyncOperation()

    @property
    def options(self) -> SyncOptions:
        return options_of(self.app, self.sync)

    @property
    def revision(self) -> Revision:
        return Revision(sync_result(self.state).revision)

    def say(self, *facts: Event) -> Run:
        return replace(self, facts=(*self.facts, *facts))


def started(run: Run) -> OperationStarted:
    by = run.state.operation.initiated_by
    return OperationStarted(
        app=run.app.key,
        project=run.app.spec.project,
        operation=operation_id(run.state),
        revision=run.revision,
        automated=by.automated,
        initiated_by=by.username,
        operation_kind=kind_of(run.app.status, run.state.operation, run.revision),
    )


def applied(run: Run, act: Act, results: Iterable[ResourceResult]) -> ResourcesApplied:
    said = tuple(results)
    synced = {key_of(one) for one in said if one.status == ResultStatus.SYNCED}
    changed = synced & {task.key for task in act.tasks if task.changed}
    return ResourcesApplied(
        app=run.app.key,
        project=run.app.spec.project,
        operation=operation_id(run.state),
        revision=run.revision,
        wave=act.step.wave,
        applied=len(changed),
        pruned=count(said, ResultStatus.PRUNED),
        unchanged=len(synced - changed),
        failed=outcomes(said),
    )


def ended(run: Run, state: OperationState, now: datetime) -> OperationFinished:
    return OperationFinished(
        app=run.app.key,
        project=run.app.spec.project,
        operation=operation_id(state),
        phase=OperationPhase(state.phase),
        revision=run.revision,
        message=state.message[:_LONGEST],
        seconds=round((now - run.began).total_seconds(), _DURATION_DIGITS),
        automated=state.operation.initiated_by.automated,
        operation_kind=kind_of(run.app.status, state.operation, run.revision),
    )


def after_failure(app: Application, state: OperationState) -> tuple[Event, ...]:
    """What follows an operation that could not start: its next try, or its end."""
    if not OperationPhase(state.phase).completed:
        return (StepOperation(app=app.key),)
    end = OperationFinished(
        app=app.key,
        project=app.spec.project,
        operation=operation_id(state),
        phase=OperationPhase(state.phase),
        revision=Revision(sync_result(state).revision),
        message=state.message[:_LONGEST],
        automated=state.operation.initiated_by.automated,
        operation_kind=kind_of(app.status, state.operation, sync_result(state).revision),
    )
    return (end, RefreshApp(app=app.key))


def terminating(run: Run, fresh: Application) -> Run:
    """With the phase Terminating where somebody has written it meanwhile."""
    theirs = fresh.status.operation_state
    ours = run.state
    asked = theirs is not None and theirs.phase == OperationPhase.TERMINATING
    if asked and theirs is not None and theirs.started_at == ours.started_at:
        return replace(run, app=fresh, state=replace(ours, phase=OperationPhase.TERMINATING))
    return replace(run, app=fresh)
