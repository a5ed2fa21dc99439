"""The store of tasks: submit, cancel, and wait for the end.

The row is the truth; signals only say when to read it. Whichever replica holds the agent's link
offers the task (task_offers.py), so its submitter need not know which one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import msgspec
from sqlalchemy import cast, func, insert, select
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from bus.identity import new_id
from bus.link import (
    TaskArguments,
    TaskKind,
    TaskPhase,
    TaskPriority,
    kind_of,
    wire_arguments,
)
from bus.spans import Spans
from bus.trace import Trace
from service.gateway.agent_task_kinds import check_supported
from service.gateway.task_ends import end
from service.projection.task_reports import ENDED
from service.store.changes import FeedChange, note_all
from service.store.link_signals import LinkSignal, signal_link
from service.store.rows import find_row
from service.store.signals import Signals
from service.store.tables import idempotency_keys, tasks

_SHARED = timedelta(seconds=30)
"""An older question that is not answered may never be."""


class QueuedTask(msgspec.Struct, frozen=True, kw_only=True):
    """`subject` is `namespace/name`; `project` is for who may see it."""

    account_id: str
    agent_id: str
    actor: str
    subject: str = ""
    project: str = ""
    arguments: TaskArguments
    """Of the kind that is asked for."""
    precondition: dict[str, str] = {}
    priority: TaskPriority | None = None
    """None: that of the kind."""
    principal_id: str | None = None
    idempotency_key: str | None = None
    not_after: datetime | None = None
    trace: Trace | None = None
    """The span of the request that asks for it."""

    @property
    def kind(self) -> TaskKind:
        return kind_of(type(self.arguments))


class TaskEnd(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a task, as the row says; `phase` may not be final if nobody answered."""

    id: str
    phase: TaskPhase
    code: str
    message: str
    result: Any = None


class TaskEndRow(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    phase: str
    code: str
    message: str
    result: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskStore:
    engine: AsyncEngine
    signals: Signals
    clock: Callable[[], datetime]
    spans: Spans = field(default_factory=Spans)

    async def submit(self, connection: AsyncConnection, new: QueuedTask) -> str:
        """Its id; see `submit_all`."""
        (task_id,) = await self.submit_all(connection, (new,))
        return task_id

    async def submit_all(
        self, connection: AsyncConnection, queued: Sequence[QueuedTask]
    ) -> Sequence[str]:
        """Their ids, by the statements of one. Part of the caller's transaction: offered then.

        All are of one account. Raises UnsupportedTaskError; and sqlalchemy.exc.IntegrityError where
        an idempotency key was used before.
        """
        for agent_id, kind in dict.fromkeys((new.agent_id, new.kind) for new in queued):
            await check_supported(connection, agent_id, kind)
        now = self.clock()
        rows = [self._row(new, now) for new in queued]
        ids = [str(row["id"]) for row in rows]
        used = [_used_key(new, id_, now) for new, id_ in zip(queued, ids, strict=True)]
        if keys := [key for key in used if key]:
            await connection.execute(insert(idempotency_keys), keys)
        if rows:
            await connection.execute(insert(tasks), rows)
        for agent_id in dict.fromkeys(new.agent_id for new in queued):
            await signal_link(connection, LinkSignal(agent_id=agent_id, offer=True))
        changes = [_change(new, id_) for new, id_ in zip(queued, ids, strict=True)]
        if changes:
            await note_all(connection, queued[0].account_id, changes)
        return ids

    def _row(self, new: QueuedTask, now: datetime) -> dict[str, Any]:
        own = {"id": new_id(), "phase": TaskPhase.QUEUED, "created_at": now}
        return {**_columns(new), **task_context(self.spans, new.trace), **own}

    async def share(self, connection: AsyncConnection, new: QueuedTask) -> str:
        """A read: its id, or that of an equal one that somebody asked for a moment ago.

        Ten people who look at one application are one question to its agent. Who may see the
        answer has been decided for each of them.
        """
        await same_question(connection, new)
        mine = (tasks.c.account_id == new.account_id) & (tasks.c.agent_id == new.agent_id)
        same = (tasks.c.kind == new.kind) & (tasks.c.subject == new.subject)
        same &= tasks.c.arguments == cast(wire_arguments(new.arguments), JSONB)
        open_ = tasks.c.phase.in_([it for it in TaskPhase if not it.final])
        young = tasks.c.created_at > self.clock() - _SHARED
        query = select(tasks.c.id).where(mine, same, open_, young).order_by(tasks.c.id).limit(1)
        known: str | None = await connection.scalar(query)
        return known or await self.submit(connection, new)

    async def cancel(self, connection: AsyncConnection, task_id: str) -> TaskPhase | None:
        """Ends a queued task; asks the agent to end a begun one. The phase now, None: no task."""
        query = select(tasks.c.phase, tasks.c.agent_id).where(tasks.c.id == task_id)
        row = (await connection.execute(query.with_for_update())).one_or_none()
        if row is None:
            return None
        phase = TaskPhase(row.phase)
        if phase is TaskPhase.QUEUED:
            await end(connection, task_id, TaskPhase.CANCELLED, "cancelled", self.clock())
            return TaskPhase.CANCELLED
        if not phase.final:
            await signal_link(connection, LinkSignal(agent_id=row.agent_id, cancel=task_id))
        return phase

    async def result(self, task_id: str, within: float) -> TaskEnd | None:
        """Waits up to `within` seconds for the end, told by any replica; None: no such task."""
        changed = asyncio.Event()

        def receive(payload: str) -> None:
            if payload in ("", task_id):
                changed.set()

        with self.signals.subscribed(ENDED, receive):
            try:
                async with asyncio.timeout(within):
                    return await self._until_final(task_id, changed)
            except TimeoutError:
                return await self.look(task_id)

    async def look(self, task_id: str) -> TaskEnd | None:
        columns = (tasks.c.id, tasks.c.phase, tasks.c.code, tasks.c.message, tasks.c.result)
        async with self.engine.connect() as connection:
            query = select(*columns).where(tasks.c.id == task_id)
            row = await find_row(connection, query, TaskEndRow)
        if row is None:
            return None
        return TaskEnd(
            id=row.id,
            phase=TaskPhase(row.phase),
            code=row.code,
            message=row.message,
            result=row.result,
        )

    async def _until_final(self, task_id: str, changed: asyncio.Event) -> TaskEnd | None:
        while True:
            changed.clear()
            found = await self.look(task_id)
            if found is None or found.phase.final:
                return found
            await changed.wait()


def _used_key(new: QueuedTask, task_id: str, now: datetime) -> Mapping[str, Any] | None:
    """The row of its idempotency key; None where the request had none."""
    if new.principal_id is None or new.idempotency_key is None:
        return None
    return {
        "account_id": new.account_id,
        "principal_id": new.principal_id,
        "key": new.idempotency_key,
        "task_id": task_id,
        "created_at": now,
    }


def _change(new: QueuedTask, task_id: str) -> FeedChange:
    return FeedChange(
        type="task.changed",
        subject=task_id,
        project=new.project,
        agent_id=new.agent_id,
        body={"phase": TaskPhase.QUEUED, "kind": new.kind, "subject": new.subject},
    )


def task_context(spans: Spans, trace: Trace | None) -> Mapping[str, str]:
    """The columns of a new task that was asked for in `trace`."""
    if trace is None:
        return {}
    if not spans.is_recording:
        return {"traceparent": str(trace), "tracestate": trace.state}
    own = spans.sampler.span(trace)
    return {"traceparent": str(own), "tracestate": own.state, "request_span": trace.span_id}


async def same_question(connection: AsyncConnection, new: QueuedTask) -> None:
    """Who asks the same takes turns, until the commit."""
    words = (new.agent_id, new.kind, new.subject, wire_arguments(new.arguments))
    question = msgspec.json.encode(words, order="sorted").decode()
    await connection.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(question, 1))))


def _columns(new: QueuedTask) -> dict[str, Any]:
    """What the row of a new task says of it, by the keys of the table's columns."""
    fields = msgspec.structs.asdict(new)
    del fields["trace"]
    return fields | {
        "kind": new.kind,
        "arguments": wire_arguments(new.arguments),
        "priority": new.priority or new.kind.row.priority,
    }
