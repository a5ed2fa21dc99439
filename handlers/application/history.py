"""The history of deployments in `.status.history`: oldest first, numbered, bounded."""

from __future__ import annotations

from bus.status import OperationKind
from handlers.application.revisions import NO_REVISIONS, Revisions
from handlers.application.spec import ApplicationSpec, Operation
from handlers.application.status import ApplicationStatus, OperationState, RevisionHistory

History = tuple[RevisionHistory, ...]

DEFAULT_LIMIT = 10


def recorded(history: History, state: OperationState, spec: ApplicationSpec) -> History:
    """Append a finished operation to the history; `revisionHistoryLimit: 0` keeps none."""
    limit = DEFAULT_LIMIT if spec.revision_history_limit is None else spec.revision_history_limit
    result = state.sync_result
    if result is None or limit <= 0:
        return ()
    entry = RevisionHistory(
        id=history[-1].id + 1 if history else 0,
        revision=result.revision,
        revisions=result.revisions,
        source=result.source,
        sources=result.sources,
        deploy_started_at=state.started_at,
        deployed_at=state.finished_at,
        initiated_by=state.operation.initiated_by,
    )
    return (*history, entry)[-limit:]


def deployed(history: History) -> Revisions:
    """The revisions that were deployed last."""
    return Revisions.of(history[-1]) if history else NO_REVISIONS


def deployed_entry(history: History, entry_id: int | None) -> RevisionHistory | None:
    """The entry with this id; None where the history does not have it (any more)."""
    return next((one for one in history if one.id == entry_id), None)


def kind_of(status: ApplicationStatus, operation: Operation, revisions: Revisions) -> OperationKind:
    """Classify an operation to `revisions`: sync, automated sync, self-heal or rollback."""
    healing = operation.sync is not None and operation.sync.auto_heal_attempts_count > 0
    if operation.initiated_by.automated:
        return OperationKind.SELF_HEAL if healing else OperationKind.AUTO_SYNC
    before = {Revisions.of(one) for one in status.history} - {deployed(status.history)}
    goes_back = revisions in before and revisions != Revisions.of(status.sync)
    return OperationKind.ROLLBACK if goes_back else OperationKind.SYNC
