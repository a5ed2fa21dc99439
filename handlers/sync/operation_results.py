"""The results of an operation, object by object, and the progress of objects since. Pure.

Results are the operation's memory: an object with a result is not touched again in the same try.
The result of a hook also says how the hook goes: Running, Succeeded, Failed or Error.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

import msgspec

from bus.events.operation_facts import ResourceOutcome
from bus.identity import ResourceKey
from bus.status import OperationPhase, ResultStatus
from handlers.application.status import ResourceResult
from handlers.sync.sync_plan import SyncPhase, SyncTask, TaskId

Results = tuple[ResourceResult, ...]

_NAMED = 10


class ProgressState(StrEnum):
    READY = "ready"
    WAITING = "waiting"
    FAILED = "failed"


class ObjectProgress(msgspec.Struct, frozen=True):
    """Whether an object that was applied or pruned is ready for the next wave."""

    state: ProgressState
    message: str = ""


READY = ObjectProgress(ProgressState.READY)
_UNSUCCESSFUL = (OperationPhase.FAILED, OperationPhase.ERROR)


def result(
    task: SyncTask, status: ResultStatus, message: str, hook_phase: OperationPhase | None = None
) -> ResourceResult:
    """Make the result of a task; a hook that was applied runs, unless `hook_phase` knows more."""
    key = task.key
    if task.hook is not None and hook_phase is None:
        refused = status is ResultStatus.SYNC_FAILED
        hook_phase = OperationPhase.FAILED if refused else OperationPhase.RUNNING
    return ResourceResult(
        group=key.group,
        version=task.version,
        kind=key.kind,
        namespace=key.namespace,
        name=key.name,
        status=status,
        message=message,
        hook_type=task.phase if task.hook is not None else "",
        hook_phase=hook_phase or "",
        sync_phase=task.phase,
    )


def id_of(one: ResourceResult) -> TaskId:
    return TaskId(one.sync_phase or SyncPhase.SYNC, one.key)


def merged(before: Results, more: Iterable[ResourceResult]) -> Results:
    """The newest result of each task, in the order in which tasks were first met."""
    newest = {id_of(one): one for one in before}
    newest.update((id_of(one), one) for one in more)
    return tuple(newest.values())


def failures(results: Iterable[ResourceResult]) -> Results:
    """The objects that were refused, or ended badly: hooks, and what did not become healthy."""
    return tuple(
        one
        for one in results
        if one.status == ResultStatus.SYNC_FAILED or one.hook_phase in _UNSUCCESSFUL
    )


def running_hooks(results: Iterable[ResourceResult]) -> Results:
    return tuple(
        one for one in results if one.hook_type and one.hook_phase == OperationPhase.RUNNING
    )


def outcomes(results: Iterable[ResourceResult]) -> tuple[ResourceOutcome, ...]:
    """The first failures, for a fact."""
    return tuple(
        ResourceOutcome(resource=str(one.key), status=one.status, message=one.message[:500])
        for one in failures(results)[:_NAMED]
    )


def count(results: Iterable[ResourceResult], status: ResultStatus) -> int:
    return sum(one.status == status for one in results)


def in_words(names: Iterable[ResourceKey]) -> str:
    """Name objects as in `apps/Deployment/web and 2 more`."""
    keys = sorted(names)
    first = title(keys[0])
    return first if len(keys) == 1 else f"{first} and {len(keys) - 1} more"


def title(key: ResourceKey) -> str:
    return "/".join(part for part in (key.group, key.kind, key.name) if part)
