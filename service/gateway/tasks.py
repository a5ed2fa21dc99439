"""Tasks as the rooms of the service see them: submit, cancel, wait for the end.

The row is the truth; signals only say when to look. An agent is offered its tasks by whichever
replica holds its link (offering.py), so who submits need not know where that is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import msgspec
from sqlalchemy import RowMapping, cast, func, insert, select, update
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from bus.ids import new_id
from bus.link import TaskClass, TaskKind, TaskPhase
from service.gateway.links import Wish, wish
from service.projection.reports import ENDED
from service.store import signals
from service.store.changes import note
from service.store.signals import Signals
from service.store.tables import idempotency_keys, tasks

_SHARED = timedelta(seconds=30)
"""An older question that is not answered may never be."""


class NewTask(msgspec.Struct, frozen=True, kw_only=True):
    """`subject` is `namespace/name`; `project` is for who may see it."""

    account_id: str
    agent_id: str
    kind: TaskKind
    actor: str
    subject: str = ""
    project: str = ""
    arguments: dict[str, Any] = {}
    precondition: dict[str, str] = {}
    clazz: TaskClass = TaskClass.INTERACTIVE
    principal_id: str | None = None
    idempotency_key: str | None = None
    not_after: datetime | None = None


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a task, as the row says; `phase` may not be final if nobody answered."""

    id: str
    phase: TaskPhase
    code: str
    message: str
    result: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tasks:
    engine: AsyncEngine
    signals: Signals
    clock: Callable[[], datetime]

    async def submit(self, connection: AsyncConnection, new: NewTask) -> str:
        """Its id. Part of the caller's transaction: offered when that commits.

        Raises sqlalchemy.exc.IntegrityError where the idempotency key was used before.
        """
        task_id, now = new_id(), self.clock()
        row = msgspec.structs.asdict(new)
        if new.principal_id is not None and new.idempotency_key is not None:
            used = insert(idempotency_keys).values(
                account_id=new.account_id,
                principal_id=new.principal_id,
                key=new.idempotency_key,
                task_id=task_id,
                created_at=now,
            )
            await connection.execute(used)
        stored = insert(tasks).values(id=task_id, phase=TaskPhase.QUEUED, created_at=now, **row)
        await connection.execute(stored)
        await wish(connection, Wish(agent_id=new.agent_id, offer=True))
        await note(
            connection,
            new.account_id,
            "task.changed",
            task_id,
            new.project,
            new.agent_id,
            {"phase": TaskPhase.QUEUED, "kind": new.kind, "subject": new.subject},
        )
        return task_id

    async def share(self, connection: AsyncConnection, new: NewTask) -> str:
        """A read: its id, or that of an equal one that somebody asked for a moment ago.

        Ten people who look at one application are one question to its agent. Who may see the
        answer has been decided for each of them.
        """
        await same_question(connection, new)
        mine = (tasks.c.account_id == new.account_id) & (tasks.c.agent_id == new.agent_id)
        same = (tasks.c.kind == new.kind) & (tasks.c.subject == new.subject)
        same &= tasks.c.arguments == cast(new.arguments, JSONB)
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
            await wish(connection, Wish(agent_id=row.agent_id, cancel=task_id))
        return phase

    async def result(self, task_id: str, within: float) -> Ended | None:
        """Waits up to `within` seconds for the end, told by any replica; None: no such task."""
        changed = asyncio.Event()

        def hear(payload: str) -> None:
            if payload in ("", task_id):
                changed.set()

        with self.signals.hearing(ENDED, hear):
            try:
                async with asyncio.timeout(within):
                    return await self._until_final(task_id, changed)
            except TimeoutError:
                return await self.look(task_id)

    async def look(self, task_id: str) -> Ended | None:
        columns = (tasks.c.id, tasks.c.phase, tasks.c.code, tasks.c.message, tasks.c.result)
        async with self.engine.connect() as connection:
            query = select(*columns).where(tasks.c.id == task_id)
            row = (await connection.execute(query)).mappings().one_or_none()
        return None if row is None else _ended(row)

    async def _until_final(self, task_id: str, changed: asyncio.Event) -> Ended | None:
        while True:
            changed.clear()
            found = await self.look(task_id)
            if found is None or found.phase.final:
                return found
            await changed.wait()


async def same_question(connection: AsyncConnection, new: NewTask) -> None:
    """Who asks the same takes turns, until the commit."""
    words = (new.agent_id, new.kind, new.subject, new.arguments)
    question = msgspec.json.encode(words, order="sorted").decode()
    await connection.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(question, 1))))


async def end(
    connection: AsyncConnection, task_id: str, phase: TaskPhase, message: str, now: datetime
) -> None:
    """Without an answer of the agent: cancelled, expired, unknown."""
    ended = (
        update(tasks)
        .where(tasks.c.id == task_id)
        .values(phase=phase, code=phase.value, message=message, finished_at=now, lease_until=None)
        .returning(tasks.c.account_id, tasks.c.agent_id, tasks.c.project, tasks.c.subject)
    )
    row = (await connection.execute(ended)).one()
    await signals.send(connection, ENDED, task_id)
    body = {"phase": phase, "subject": row.subject, "message": message}
    await note(connection, row.account_id, "task.changed", task_id, row.project, row.agent_id, body)


def _ended(row: RowMapping) -> Ended:
    return Ended(
        id=row["id"],
        phase=TaskPhase(row["phase"]),
        code=row["code"],
        message=row["message"],
        result=row["result"],
    )
