"""What became of each object of an operation, and how it stands since.

Results are the operation's memory: an object with a result is not touched again in the same try.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

import msgspec

from bus.events.facts import ResourceOutcome
from bus.identity import ResourceKey
from bus.status import ResultStatus
from handlers.application.status import ResourceResult
from handlers.sync.plan import Task

Results = tuple[ResourceResult, ...]

_TOLD = 10


class Stand(StrEnum):
    READY = "ready"
    WAITING = "waiting"
    FAILED = "failed"


class Standing(msgspec.Struct, frozen=True):
    """How an object stands after it was applied or pruned."""

    stand: Stand
    message: str = ""


READY = Standing(Stand.READY)


def result(task: Task, status: ResultStatus, message: str) -> ResourceResult:
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
    found = {key_of(one): one for one in before}
    found.update((key_of(one), one) for one in more)
    return tuple(found.values())


def failures(results: Iterable[ResourceResult]) -> Results:
    return tuple(one for one in results if one.status == ResultStatus.SYNC_FAILED)


def outcomes(results: Iterable[ResourceResult]) -> tuple[ResourceOutcome, ...]:
    """The first failures as a fact tells them."""
    return tuple(
        ResourceOutcome(resource=str(key_of(one)), status=one.status, message=one.message[:500])
        for one in failures(results)[:_TOLD]
    )


def count(results: Iterable[ResourceResult], status: ResultStatus) -> int:
    return sum(one.status == status for one in results)


def in_words(names: Iterable[ResourceKey]) -> str:
    """`apps/Deployment/web and 2 more`."""
    keys = sorted(names)
    first = "/".join(part for part in (keys[0].group, keys[0].kind, keys[0].name) if part)
    return first if len(keys) == 1 else f"{first} and {len(keys) - 1} more"
