"""Ends of tasks: cancelled or unanswered ones, the sweep that finds them, and the span of each.

What nobody answers ends as `expired` before it was offered, and as `unknown` after. An agent's own
results end tasks in service/projection/task_reports.py.

    request's span -> task's span, from its submission to its end -> the agent's spans

The task's span gets its id when the row is written (task_store.py), so that any replica may offer
the task, and another record its end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec
import structlog
from sqlalchemy import select, update
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from bus.link import TaskKind, TaskPhase
from bus.spans import FinishedSpan, Spans, SpanType
from bus.trace import Trace
from service.gateway.agent_status import LOST_AFTER, report_liveness
from service.projection.task_reports import ENDED
from service.store import signals
from service.store.changes import note
from service.store.rows import read_rows
from service.store.tables import agents, tasks

log = structlog.get_logger()

UNSUPPORTED = "unsupported"
"""The code of a task whose kind its agent does not do; agents answer with it too."""
_SWEEP_SECONDS = 5.0
_BEGUN = (TaskPhase.OFFERED, TaskPhase.RUNNING)
_FINE = (TaskPhase.SUCCEEDED, TaskPhase.CANCELLED)
_COLUMNS = (
    tasks.c.id,
    tasks.c.kind,
    tasks.c.phase,
    tasks.c.code,
    tasks.c.traceparent,
    tasks.c.tracestate,
    tasks.c.request_span,
    tasks.c.created_at,
    tasks.c.finished_at,
)


class EndedTaskRow(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    kind: str
    phase: str
    code: str
    traceparent: str
    tracestate: str
    request_span: str
    created_at: datetime
    finished_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSpans:
    engine: AsyncEngine
    spans: Spans

    async def record(self, ids: Sequence[str], agent_id: str = "") -> None:
        """Spans of those that have ended, after the commit; `agent_id`: of no other agent."""
        if not ids or not self.spans.is_recording:
            return
        ended = tasks.c.id.in_(ids) & (tasks.c.request_span != "")
        if agent_id:
            ended &= tasks.c.agent_id == agent_id
        try:
            async with self.engine.connect() as connection:
                query = select(*_COLUMNS).where(ended, tasks.c.finished_at.is_not(None))
                rows = await read_rows(connection, query, EndedTaskRow)
        except (SQLAlchemyError, OSError, TimeoutError) as e:
            log.warning("spans of tasks are missing", count=len(ids), error=type(e).__name__)
            return
        for row in rows:
            self._record(row)

    def _record(self, row: EndedTaskRow) -> None:
        trace = Trace.parse(row.traceparent, row.tracestate)
        if trace is not None:
            self.spans.record(_span(row, trace))


async def sweeping(spans: TaskSpans, clock: Callable[[], datetime]) -> None:
    """Sweep until cancelled; replicas may do it at the same time, because rows are locked."""
    while True:
        try:
            await spans.record(await sweep(spans.engine, clock()))
        except (SQLAlchemyError, OSError, TimeoutError) as e:
            log.warning("sweep failed, tried again soon", error=type(e).__name__)
        await asyncio.sleep(_SWEEP_SECONDS)


async def sweep(engine: AsyncEngine, now: datetime) -> Sequence[str]:
    """Ids of the tasks that ended."""
    async with engine.begin() as connection:
        ended = await end_unanswered(connection, now)
    await report_liveness(engine, now)
    if ended:
        log.info("tasks ended without an answer", count=len(ended))
    return ended


async def end_unanswered(connection: AsyncConnection, now: datetime) -> Sequence[str]:
    """Queued past their time; begun by agents that have been lost since. Ids of what ended."""
    query = (
        select(tasks.c.id, tasks.c.phase, tasks.c.kind)
        .join(agents, agents.c.id == tasks.c.agent_id)
        .where(tasks.c.not_after < now)
        .where(
            (tasks.c.phase == TaskPhase.QUEUED)
            | (tasks.c.phase.in_(_BEGUN) & (agents.c.heard_at < now - LOST_AFTER))
        )
        .limit(100)
        .with_for_update(of=tasks, skip_locked=True)
    )
    rows = (await connection.execute(query)).all()
    for row in rows:
        phase, message = _verdict(row)
        await end(connection, row.id, phase, message, now)
    return [row.id for row in rows]


async def end(
    connection: AsyncConnection, task_id: str, phase: TaskPhase, message: str, now: datetime
) -> None:
    """End a task without an answer of its agent: as cancelled, expired, unsupported or unknown."""
    code = UNSUPPORTED if phase is TaskPhase.FAILED else phase.value
    ended = (
        update(tasks)
        .where(tasks.c.id == task_id)
        .values(phase=phase, code=code, message=message, finished_at=now, lease_until=None)
        .returning(tasks.c.account_id, tasks.c.agent_id, tasks.c.project, tasks.c.subject)
    )
    row = (await connection.execute(ended)).one()
    await signals.send(connection, ENDED, task_id)
    body = {"phase": phase, "subject": row.subject, "message": message}
    await note(connection, row.account_id, "task.changed", task_id, row.project, row.agent_id, body)


def _verdict(row: Any) -> tuple[TaskPhase, str]:
    if row.phase == TaskPhase.QUEUED or TaskKind(row.kind).row.repeatable:
        return TaskPhase.EXPIRED, "the agent was not there in time"
    return TaskPhase.UNKNOWN, "the agent was lost while it ran: look at the cluster"


def _span(row: EndedTaskRow, trace: Trace) -> FinishedSpan:
    created = row.created_at
    phase = TaskPhase(row.phase)
    return FinishedSpan(
        name=f"task {row.kind}",
        type=SpanType.PRODUCER,
        trace=trace,
        parent=Trace(trace_id=trace.trace_id, span_id=row.request_span, flags=trace.flags),
        started=created.timestamp(),
        seconds=(row.finished_at - created).total_seconds(),
        attributes={
            "gitops.task": row.id,
            "gitops.task.kind": row.kind,
            "gitops.task.phase": phase.value,
            "gitops.task.code": row.code,
        },
        error="" if phase in _FINE else row.code or phase.value,
    )
