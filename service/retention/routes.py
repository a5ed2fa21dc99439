"""The worker of retention."""

from __future__ import annotations

from collections.abc import Coroutine, Iterator
from typing import Any

from service.parts import Parts
from service.retention.job import RetentionJob
from service.settings import retention_policy


def workers(parts: Parts) -> Iterator[tuple[str, Coroutine[Any, Any, None]]]:
    yield "retention", job_of(parts).run()


def job_of(parts: Parts) -> RetentionJob:
    return RetentionJob(
        engine=parts.engine,
        keys=parts.keys,
        policy=retention_policy(parts.settings),
        metrics=parts.metrics,
        clock=parts.clock,
    )
