"""Reports of agents about tasks: progress renews the lease, a result ends the task.

A final phase stays, except `unknown`: an agent that comes back knows better. A result for a task of
another agent changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec
from sqlalchemy import update
from sqlalchemy.ext.asyncio import AsyncConnection

from bus.link import TaskPhase, TaskProgress, TaskResult
from service.projection.batch import Batch, BatchScope, clip
from service.store import signals
from service.store.changes import FeedChange
from service.store.tables import tasks

ENDED = "task_ended"
"""The channel on which the id of each ended task is told."""
LEASE = timedelta(seconds=30)
RESULT_LIMIT = 256 * 1024
_OPEN = (TaskPhase.QUEUED, TaskPhase.OFFERED, TaskPhase.RUNNING)


async def report(
    connection: AsyncConnection, scope: BatchScope, batch: Batch, now: datetime
) -> Sequence[FeedChange]:
    changes: list[FeedChange] = []
    for progress in batch.progress:
        changes += await _progress(connection, scope, progress, now)
    for result in batch.results:
        changes += await _result(connection, scope, result, now)
    return changes


async def _progress(
    connection: AsyncConnection, scope: BatchScope, report: TaskProgress, now: datetime
) -> list[FeedChange]:
    values = {
        "phase": TaskPhase.RUNNING,
        "progress": {"message": report.message, "done": report.done, "total": report.total},
        "lease_until": now + LEASE,
    }
    return await _change(connection, scope, report.id, _OPEN, values)


async def _result(
    connection: AsyncConnection, scope: BatchScope, report: TaskResult, now: datetime
) -> list[FeedChange]:
    large = len(msgspec.json.encode(report.body)) > RESULT_LIMIT
    values = {
        "phase": report.phase if report.phase.final else TaskPhase.FAILED,
        "code": clip(report.code, 32),
        "message": "the result is too large to keep" if large else clip(report.message, 4000),
        "result": None if large else report.body,
        "lease_until": None,
        "finished_at": now,
    }
    changes = await _change(connection, scope, report.id, (*_OPEN, TaskPhase.UNKNOWN), values)
    if changes:
        await signals.send(connection, ENDED, report.id)
    return changes


async def _change(
    connection: AsyncConnection,
    scope: BatchScope,
    task_id: str,
    phases: Sequence[TaskPhase],
    values: dict[str, object],
) -> list[FeedChange]:
    mine = (tasks.c.id == task_id) & (tasks.c.agent_id == scope.agent_id)
    changed = update(tasks).where(mine, tasks.c.phase.in_(phases)).values(values)
    columns = (tasks.c.project, tasks.c.subject, tasks.c.kind, tasks.c.phase, tasks.c.message)
    row = (await connection.execute(changed.returning(*columns))).one_or_none()
    if row is None:
        return []
    body = {
        "phase": row.phase,
        "kind": row.kind,
        "subject": row.subject,
        "message": row.message,
        "progress": values.get("progress", {}),
    }
    return [
        FeedChange(
            type="task.changed",
            subject=task_id,
            project=row.project,
            agent_id=scope.agent_id,
            body=body,
        )
    ]
