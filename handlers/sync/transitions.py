"""How an operation's state changes: begun, told results, waiting, tried again, finished."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from msgspec.structs import replace

from bus.identity import Revision, token_of
from bus.status import OperationPhase
from handlers.application.application import Application
from handlers.application.spec import Operation, SyncOperation
from handlers.application.status import OperationState, ResourceResult, SyncResult
from handlers.application.times import written
from handlers.sync.operation import Finish, policy_of, sync_result
from handlers.sync.results import merged

COMMAND_ID = "commandId"
"""The name in `operation.info` under which a command leaves its id."""
OPERATION_ID = "operationId"
"""The name under which every operation keeps its own."""


def begun(
    app: Application, operation: Operation, revision: Revision, now: datetime
) -> OperationState:
    """Pinned to `revision`, so that every later step and every retry deploys the same commit."""
    sync = replace(operation.sync or SyncOperation(), revision=revision)
    return OperationState(
        operation=replace(operation, sync=sync, info=_identified(app, operation, revision, now)),
        phase=OperationPhase.RUNNING,
        started_at=written(now),
        sync_result=SyncResult(revision=revision, source=sync.source or app.source),
    )


def told(state: OperationState, results: Iterable[ResourceResult]) -> OperationState:
    """With the results of a step."""
    before = sync_result(state)
    return replace(state, sync_result=replace(before, resources=merged(before.resources, results)))


def waiting(state: OperationState, message: str) -> OperationState:
    return replace(state, message=message)


def finished(state: OperationState, end: Finish, now: datetime) -> OperationState:
    """At its end; or, where it failed and may be tried again, waiting (Running with `finishedAt`).

    Who terminates an operation does not want another try.
    """
    over = end.final or state.phase == OperationPhase.TERMINATING
    failed = end.phase is not OperationPhase.SUCCEEDED
    if failed and not over and policy_of(state).allows(state.retry_count):
        return _again(state, end, now)
    tries = f" (after {state.retry_count} retries)" if failed and state.retry_count else ""
    return replace(state, phase=end.phase, message=end.message + tries, finished_at=written(now))


def restarted(state: OperationState) -> OperationState:
    """The next try: nothing is done yet; at the newest revision where the policy says `refresh`."""
    result = replace(sync_result(state), resources=())
    operation = state.operation
    if policy_of(state).refresh and operation.sync is not None:
        operation = replace(operation, sync=replace(operation.sync, revision=""))
        result = replace(result, revision="")
    return replace(state, operation=operation, finished_at="", sync_result=result)


def is_superseded(state: OperationState, newest: Revision) -> bool:
    """Whether an automated operation waits to try again what Git has already replaced."""
    waits = bool(state.finished_at) and state.phase == OperationPhase.RUNNING
    newer = sync_result(state).revision not in ("", newest)
    return waits and newer and state.operation.initiated_by.automated


def superseded(state: OperationState, newest: Revision) -> OperationState:
    """Ended as it failed: its next try would deploy what nobody wants any more."""
    message = f"{state.message.partition('; retry ')[0]}; superseded by {newest[:7]}"
    return replace(state, phase=OperationPhase.FAILED, message=message)


def repinned(state: OperationState, revision: Revision) -> OperationState:
    """At `revision`, where a restart has cleared it."""
    sync = replace(state.operation.sync or SyncOperation(), revision=revision)
    return replace(
        state,
        operation=replace(state.operation, sync=sync),
        sync_result=replace(sync_result(state), revision=revision),
    )


def failed_to_start(
    app: Application, message: str, now: datetime, *, final: bool = False
) -> OperationState | None:
    """The operation that is wanted or under way, ended before its desired state was known."""
    state = under_way(app)
    if state is None and app.operation is not None:
        wanted = app.operation.sync.revision if app.operation.sync else ""
        state = begun(app, app.operation, Revision(wanted), now)
    if state is None:
        return None
    return finished(state, Finish(OperationPhase.ERROR, message, final), now)


def under_way(app: Application) -> OperationState | None:
    state = app.status.operation_state
    return state if state is not None and not OperationPhase(state.phase).completed else None


def operation_id(state: OperationState) -> str:
    return info_of(state.operation, OPERATION_ID)


def info_of(operation: Operation, name: str) -> str:
    """The value of one entry of `operation.info`; empty where there is none."""
    found = (str(one.get("value", "")) for one in operation.info if one.get("name") == name)
    return next(found, "")


def _identified(
    app: Application, operation: Operation, revision: Revision, now: datetime
) -> tuple[dict[str, str], ...]:
    """With an id that facts carry: the command's own, or a word that no other operation has."""
    name = info_of(operation, COMMAND_ID) or token_of(f"{app.key}@{revision}#{now.timestamp()}")
    return (*operation.info, {"name": OPERATION_ID, "value": name})


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
