"""What agents say of tasks -> rows of `tasks`: progress renews the lease, a result ends it.

A final phase stays, but for `unknown`: an agent that comes back knows better than our guess. A
result whose task is not this agent's changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec
from sqlalchemy import update
from sqlalchemy.ext.asyncio import AsyncConnection

from bus.link import TaskPhase, TaskProgress, TaskResult
from service.projection.values import Batch, Scope, clip
from service.store import signals
from service.store.changes import Change
from service.store.tables import tasks

ENDED = "task_ended"
"""The channel on which the id of each ended task is told."""
LEASE = timedelta(seconds=30)
RESULT_LIMIT = 256 * 1024
_OPEN = (TaskPhase.QUEUED, TaskPhase.OFFERED, TaskPhase.RUNNING)


async def report(
    connection: AsyncConnection, scope: Scope, batch: Batch, now: datetime
) -> Sequence[Change]:
    changes: list[Change] = []
    for progress in batch.progress:
        changes += await _progress(connection, scope, progress, now)
    for result in batch.results:
        changes += await _result(connection, scope, result, now)
    return changes


async def _progress(
    connection: AsyncConnection, scope: Scope, said: TaskProgress, now: datetime
) -> list[Change]:
    values = {
        "phase": TaskPhase.RUNNING,
        "progress": {"message": said.message, "done": said.done, "total": said.total},
        "lease_until": now + LEASE,
    }
    return await _change(connection, scope, said.id, _OPEN, values)


async def _result(
    connection: AsyncConnection, scope: Scope, said: TaskResult, now: datetime
) -> list[Change]:
    large = len(msgspec.json.encode(said.body)) > RESULT_LIMIT
    values = {
        "phase": said.phase if said.phase.final else TaskPhase.FAILED,
        "code": clip(said.code, 32),
        "message": "the result is too large to keep" if large else clip(said.message, 4000),
        "result": None if large else said.body,
        "lease_until": None,
        "finished_at": now,
    }
    changes = await _change(connection, scope, said.id, (*_OPEN, TaskPhase.UNKNOWN), values)
    if changes:
        await signals.send(connection, ENDED, said.id)
    return changes


async def _change(
    connection: AsyncConnection,
    scope: Scope,
    task_id: str,
    phases: Sequence[TaskPhase],
    values: dict[str, object],
) -> list[Change]:
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
        Change(
            type="task.changed",
            subject=task_id,
            project=row.project,
            agent_id=scope.agent_id,
            body=body,
        )
    ]
