"""Transitions of an operation's state: begun, with results, waiting, retried, finished. Pure.

Every function takes a state and returns the next one; `operation.next_move` says which is due.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from msgspec.structs import replace

from bus.identity import token_of
from bus.status import OperationPhase, Reason
from handlers.application.application import Application
from handlers.application.desired_source import as_desired
from handlers.application.policy import duration_problems, namespace_metadata, sync_options_for
from handlers.application.revisions import NO_REVISIONS, Revisions
from handlers.application.spec import ApplicationSpec, Operation, SyncOperation
from handlers.application.status import (
    ApplicationStatus,
    OperationState,
    ResourceResult,
    SyncResult,
)
from handlers.application.times import written
from handlers.sync.move import Finish
from handlers.sync.operation import policy_of, sync_result
from handlers.sync.operation_info import COMMAND_ID, END_REASON, OPERATION_ID, info_of
from handlers.sync.operation_results import merged

_HELD = "not tried again while it is held"


def begun(
    app: Application, operation: Operation, revisions: Revisions, now: datetime
) -> OperationState:
    """Begin an operation, pinned to `revisions`: every step and every retry deploys those."""
    sync = _at(operation.sync or SyncOperation(), revisions)
    spec = as_desired(replace(app, status=ApplicationStatus(), operation=operation)).spec
    return OperationState(
        operation=replace(operation, sync=sync, info=_identified(app, operation, revisions, now)),
        phase=OperationPhase.RUNNING,
        started_at=written(now),
        sync_result=SyncResult(
            revision=revisions.revision,
            revisions=revisions.revisions,
            source=None if spec.sources else spec.source,
            sources=spec.sources,
            managed_namespace_metadata=namespace_metadata(
                app, sync_options_for(app, sync.sync_options)
            ),
        ),
    )


def with_results(state: OperationState, results: Iterable[ResourceResult]) -> OperationState:
    """Add the results of a step."""
    before = sync_result(state)
    return replace(state, sync_result=replace(before, resources=merged(before.resources, results)))


def waiting(state: OperationState, message: str) -> OperationState:
    return replace(state, message=message)


def finished(state: OperationState, end: Finish, now: datetime) -> OperationState:
    """End the operation, or let it wait for a retry: Running with `finishedAt`.

    A terminated operation is not retried: whoever terminates it wants no other try.
    """
    over = end.final or state.phase == OperationPhase.TERMINATING
    failed = end.phase is not OperationPhase.SUCCEEDED
    if failed and not over and policy_of(state).allows(state.retry_count):
        problems = tuple(duration_problems(state.operation.retry))
        if not problems:
            return _again(state, end, now)
        text = f"{end.message}; failed to retry: {'; '.join(problems)}"
        end = Finish(OperationPhase.ERROR, text)
    tries = f" (after {state.retry_count} retries)" if failed and state.retry_count else ""
    return replace(state, phase=end.phase, message=end.message + tries, finished_at=written(now))


def not_cleaned(state: OperationState, message: str) -> Finish:
    """The end of an operation whose hooks may not be let go or deleted."""
    terminating = state.phase == OperationPhase.TERMINATING
    about = "Operation termination had errors" if terminating else "hooks were not cleaned up"
    return Finish(OperationPhase.ERROR, f"{about}: {message}", final=True)


def restarted(state: OperationState) -> OperationState:
    """Begin the next try, without results; at the newest revision if the policy says so."""
    result = replace(sync_result(state), resources=(), resources_total=0)
    operation = state.operation
    if policy_of(state).refresh and operation.sync is not None:
        operation = replace(operation, sync=_at(operation.sync, NO_REVISIONS))
        result = replace(result, revision="", revisions=())
    return replace(state, operation=operation, finished_at="", sync_result=result)


def waits_for_retry(state: OperationState) -> bool:
    """Whether an automated operation has failed and waits for its next try."""
    waits = bool(state.finished_at) and state.phase == OperationPhase.RUNNING
    return waits and state.operation.initiated_by.automated


def is_superseded(state: OperationState, newest: Revisions) -> bool:
    """Whether an automated operation waits to try again what Git has already replaced."""
    tried = Revisions.of(sync_result(state))
    return waits_for_retry(state) and bool(tried) and tried != newest


def superseded(state: OperationState, newest: Revisions) -> OperationState:
    """End a failed operation whose next try would deploy what Git has replaced."""
    return _not_tried_again(state, f"superseded by {newest.short}")


def held(state: OperationState, why: str) -> OperationState:
    """End a failed operation whose next try would do what is held until a person acts."""
    info = (*state.operation.info, {"name": END_REASON, "value": Reason.AUTO_SYNC_HELD.value})
    ended = _not_tried_again(state, f"{_HELD}: {why}")
    return replace(ended, operation=replace(state.operation, info=info))


def was_held(state: OperationState) -> bool:
    """Whether a hold ended the operation, so that its end says nothing about its revision.

    An operation that an earlier version ended has no reason in its info, only the message.
    """
    if state.phase != OperationPhase.FAILED:
        return False
    reason = info_of(state.operation, END_REASON)
    return reason == Reason.AUTO_SYNC_HELD or (not reason and f"; {_HELD}: " in state.message)


def repinned(state: OperationState, revisions: Revisions, spec: ApplicationSpec) -> OperationState:
    """Pin the operation to `revisions` of the spec's sources where `restarted` has cleared them."""
    sync = _at(state.operation.sync or SyncOperation(), revisions)
    result = replace(
        sync_result(state),
        revision=revisions.revision,
        revisions=revisions.revisions,
        source=None if spec.sources else spec.source,
        sources=spec.sources,
    )
    return replace(state, operation=replace(state.operation, sync=sync), sync_result=result)


def _at(sync: SyncOperation, revisions: Revisions) -> SyncOperation:
    return replace(sync, revision=revisions.revision, revisions=revisions.revisions)


def failed_to_start(
    app: Application, message: str, now: datetime, *, final: bool = False
) -> OperationState | None:
    """End the operation under way, else the requested one, whose desired state is not known.

    None where there is neither.
    """
    state = under_way(app)
    if state is None and app.operation is not None:
        state = begun(app, app.operation, Revisions.of(app.operation.sync), now)
    if state is None:
        return None
    return finished(state, Finish(OperationPhase.ERROR, message, final), now)


def under_way(app: Application) -> OperationState | None:
    """The operation that has begun and not ended; its next try may be yet to come."""
    state = app.status.operation_state
    return state if state is not None and not OperationPhase(state.phase).completed else None


def _identified(
    app: Application, operation: Operation, revisions: Revisions, now: datetime
) -> tuple[dict[str, str], ...]:
    """Add the operation's id to its info: the command's own id, or a token that no other has."""
    name = info_of(operation, COMMAND_ID) or token_of(f"{app.key}@{revisions}#{now.timestamp()}")
    return (*operation.info, {"name": OPERATION_ID, "value": name})


def _not_tried_again(state: OperationState, why: str) -> OperationState:
    message = f"{state.message.partition('; retry ')[0]}; {why}"
    return replace(state, phase=OperationPhase.FAILED, message=message)


def _again(state: OperationState, end: Finish, now: datetime) -> OperationState:
    count = state.retry_count + 1
    policy = policy_of(state)
    at = written(now + timedelta(seconds=policy.wait(count)))
    limit = "" if policy.limit < 0 else f" of {policy.limit}"
    return replace(
        state,
        phase=OperationPhase.RUNNING,
        message=f"{end.message}; retry {count}{limit} at {at}",
        finished_at=written(now),
        retry_count=count,
    )
