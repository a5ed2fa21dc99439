"""StepRun: one call of the step handler as a value, and the facts about its operation. Pure."""

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
from handlers.application.deployed_cluster import deployed_to
from handlers.application.history import kind_of
from handlers.application.revisions import Revisions
from handlers.application.spec import Operation, SyncOperation
from handlers.application.status import ApplicationStatus, OperationState, ResourceResult
from handlers.comparison.comparison import Comparison
from handlers.control_plane.governance import OVERRIDE_WINDOW
from handlers.manifest.options import SyncOptions
from handlers.ports import DestinationSession, StatusWrite
from handlers.sync.move import Act
from handlers.sync.operation import sync_result
from handlers.sync.operation_info import info_of, operation_id
from handlers.sync.operation_results import count, outcomes
from handlers.sync.sync_work import options_of
from handlers.sync.window_override import LONGEST_REASON

_DURATION_DIGITS = 3
_LONGEST = 1000


class StepRun(msgspec.Struct, frozen=True, kw_only=True):
    """The operation, the comparison that it acts on, and the facts to publish at its end."""

    app: Application
    state: OperationState
    comparison: Comparison
    began: datetime
    taken: Operation | None = None
    """The `.operation` that this run took over, to be cleared with the first write."""
    resumed: bool = False
    """Whether earlier calls of the handler have worked on the operation."""
    facts: tuple[Event, ...] = ()

    @property
    def sync(self) -> SyncOperation:
        return self.state.operation.sync or SyncOperation()

    @property
    def options(self) -> SyncOptions:
        return options_of(self.app, self.sync)

    @property
    def revision(self) -> Revision:
        """The revision by which people know what is deployed; of several sources, the first's."""
        return _main(self.state)

    @property
    def revisions(self) -> Revisions:
        return Revisions.of(sync_result(self.state))

    @property
    def is_to_be_written(self) -> bool:
        """Whether nothing in the cluster tells of this operation yet, and something should."""
        known = self.app.status.operation_state
        written = known is not None and operation_id(known) == operation_id(self.state)
        return not (written or self.sync.dry_run)

    def emit(self, *facts: Event) -> StepRun:
        return replace(self, facts=(*self.facts, *facts))


def status_write(
    run: StepRun, status: ApplicationStatus, session: DestinationSession
) -> StatusWrite:
    """Make the write of the status: with the facts, and with the cluster that was deployed to."""
    state = status.operation_state
    result = state.sync_result if state is not None else None
    applied_some = any(
        one.status == ResultStatus.SYNCED for one in (result.resources if result else ())
    )
    place = deployed_to(session.cluster.server, session.cluster_uid)
    return StatusWrite(
        status=status,
        clear_operation=run.taken is not None and run.app.operation == run.taken,
        events=run.facts,
        annotations=place if applied_some and not run.sync.dry_run else {},
    )


def started(run: StepRun) -> OperationStarted:
    by = run.state.operation.initiated_by
    return OperationStarted(
        app=run.app.key,
        project=run.app.spec.project,
        operation=operation_id(run.state),
        revision=run.revision,
        revisions=run.revisions.in_fact,
        automated=by.automated,
        initiated_by=by.username,
        operation_kind=kind_of(run.app.status, run.state.operation, run.revisions),
        override_window=info_of(run.state.operation, OVERRIDE_WINDOW)[:LONGEST_REASON],
    )


def applied(run: StepRun, act: Act, results: Iterable[ResourceResult]) -> ResourcesApplied:
    all_results = tuple(results)
    synced = {one.key for one in all_results if one.status == ResultStatus.SYNCED}
    changed = synced & {task.key for task in act.tasks if task.changed}
    return ResourcesApplied(
        app=run.app.key,
        project=run.app.spec.project,
        operation=operation_id(run.state),
        revision=run.revision,
        wave=act.step.wave,
        applied=len(changed),
        pruned=count(all_results, ResultStatus.PRUNED),
        unchanged=len(synced - changed),
        failed=outcomes(all_results),
    )


def ended(run: StepRun, state: OperationState, now: datetime) -> OperationFinished:
    return OperationFinished(
        app=run.app.key,
        project=run.app.spec.project,
        operation=operation_id(state),
        phase=OperationPhase(state.phase),
        revision=run.revision,
        revisions=run.revisions.in_fact,
        message=state.message[:_LONGEST],
        seconds=round((now - run.began).total_seconds(), _DURATION_DIGITS),
        automated=state.operation.initiated_by.automated,
        operation_kind=kind_of(run.app.status, state.operation, run.revisions),
    )


def after_failure(app: Application, state: OperationState) -> tuple[Event, ...]:
    """The events after an operation could not start: its next try, or its end."""
    if not OperationPhase(state.phase).completed:
        return (StepOperation(app=app.key),)
    end = OperationFinished(
        app=app.key,
        project=app.spec.project,
        operation=operation_id(state),
        phase=OperationPhase(state.phase),
        revision=_main(state),
        revisions=Revisions.of(state.sync_result).in_fact,
        message=state.message[:_LONGEST],
        automated=state.operation.initiated_by.automated,
        operation_kind=kind_of(app.status, state.operation, Revisions.of(state.sync_result)),
    )
    return (end, RefreshApp(app=app.key))


def _main(state: OperationState) -> Revision:
    result = sync_result(state)
    return Revisions.of(result).main(result.sources)


def terminating(run: StepRun, fresh: Application) -> StepRun:
    """Take over the phase Terminating where somebody has written it meanwhile."""
    theirs = fresh.status.operation_state
    ours = run.state
    asked = theirs is not None and theirs.phase == OperationPhase.TERMINATING
    if asked and theirs is not None and theirs.started_at == ours.started_at:
        return replace(run, app=fresh, state=replace(ours, phase=OperationPhase.TERMINATING))
    return replace(run, app=fresh)
