"""How each task ended, as its agent says: the other half of the record that was made when asked.

Runs with each batch of the projection, inside its transaction; the id is made of the task's, so a
result that comes twice is recorded once. Reads leave no record: nothing was changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from bus.link import TaskKind, TaskResult
from service.audit import book
from service.audit.record import Entry, Source, deterministic_id
from service.projection.values import Batch, Scope
from service.store.changes import Change
from service.store.tables import tasks

_MESSAGE = 500


async def follow_results(
    connection: AsyncConnection, scope: Scope, batch: Batch, now: datetime
) -> Sequence[Change]:
    """Tells nothing itself: `task.changed` was told by who wrote the task."""
    results = {it.id: it for it in batch.results if it.phase.final}
    if not results:
        return ()
    query = select(tasks).where(
        tasks.c.id.in_(results),
        tasks.c.agent_id == scope.agent_id,
        tasks.c.kind.in_([it.value for it in TaskKind if it.writes]),
    )
    rows = (await connection.execute(query.order_by(tasks.c.id))).mappings().all()
    entries = [_entry(scope, dict(row), results[row["id"]], now) for row in rows]
    await book.record_all(connection, entries)
    return ()


def _entry(scope: Scope, task: Mapping[str, Any], result: TaskResult, now: datetime) -> Entry:
    return Entry(
        account=scope.account_id,
        id=deterministic_id(scope.account_id, "task", result.id),
        time=now,
        actor=task["actor"],
        action=f"task.{task['kind']}.ended",
        resource=task["subject"] or f"agent/{scope.agent}",
        project=task["project"],
        outcome=(result.code or result.phase.value)[:32],
        source=Source.AGENT,
        detail={"task": result.id, "agent": scope.agent, "message": result.message[:_MESSAGE]},
    )
