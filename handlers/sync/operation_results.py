"""The results of an operation, object by object, and the progress of objects since. Pure.

Results are the operation's memory: an object with a result is not touched again in the same try.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

import msgspec

from bus.events.operation_facts import ResourceOutcome
from bus.identity import ResourceKey
from bus.status import ResultStatus
from handlers.application.status import ResourceResult
from handlers.sync.sync_plan import SyncTask

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


def result(task: SyncTask, status: ResultStatus, message: str) -> ResourceResult:
    key = task.key
    return ResourceResult(
        group=key.group,
        version=task.version,
        kind=key.kind,
        namespace=key.namespace,
        name=key.name,
        status=status,
        message=message,
        sync_phase=task.phase,
    )


def key_of(one: ResourceResult) -> ResourceKey:
    return ResourceKey(one.group, one.kind, one.namespace, one.name)


def merged(before: Results, more: Iterable[ResourceResult]) -> Results:
    """The newest result of each object, in the order in which objects were first met."""
    newest = {key_of(one): one for one in before}
    newest.update((key_of(one), one) for one in more)
    return tuple(newest.values())


def failures(results: Iterable[ResourceResult]) -> Results:
    return tuple(one for one in results if one.status == ResultStatus.SYNC_FAILED)


def outcomes(results: Iterable[ResourceResult]) -> tuple[ResourceOutcome, ...]:
    """The first failures, for a fact."""
    return tuple(
        ResourceOutcome(resource=str(key_of(one)), status=one.status, message=one.message[:500])
        for one in failures(results)[:_NAMED]
    )


def count(results: Iterable[ResourceResult], status: ResultStatus) -> int:
    return sum(one.status == status for one in results)


def in_words(names: Iterable[ResourceKey]) -> str:
    """Name objects as in `apps/Deployment/web and 2 more`."""
    keys = sorted(names)
    first = "/".join(part for part in (keys[0].group, keys[0].kind, keys[0].name) if part)
    return first if len(keys) == 1 else f"{first} and {len(keys) - 1} more"
