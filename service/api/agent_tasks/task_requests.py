"""Task requests to agents: the task, its audit record, and the receipt for the caller.

An Idempotency-Key makes one task of any number of equal requests; the same key with another body is
refused. The arguments of a request say of which kind the task is: bus/link/tasks.py has the types.
"""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta
from typing import Any

import msgspec
from sqlalchemy import select

from bus.link import (
    TaskArguments,
    TaskKind,
    TaskPhase,
    TaskPriority,
    kind_of,
    wire_arguments,
)
from service.audit.audit_record import redacted
from service.gateway.task_store import QueuedTask
from service.http.call import TASKS, ApiCall
from service.http.endpoint import ResponseModel
from service.http.fields import text_of
from service.http.problem import ProblemError, not_found
from service.observe.requests import trace_of
from service.store.rows import find_row
from service.store.tables import idempotency_keys, tasks

_NOT_AFTER = timedelta(hours=1)
_LONGEST_KEY = 200


class TaskSummary(ResponseModel, frozen=True, kw_only=True):
    id: str
    kind: TaskKind
    subject: str
    agent: str
    """Its id."""
    project: str
    actor: str
    phase: TaskPhase
    code: str
    message: str
    progress: dict[str, Any]
    result: Any
    """Redacted by the agent; null until it has ended, and in lists."""
    created_at: str
    started_at: str | None
    finished_at: str | None


class TaskRow(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    kind: str
    subject: str
    agent_id: str
    project: str
    actor: str
    principal_id: str | None
    arguments: dict[str, Any]
    phase: str
    code: str
    message: str
    progress: dict[str, Any]
    result: Any
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


class TaskReceipt(ResponseModel, frozen=True, kw_only=True):
    """It will be done, or refused by the agent: the task says which."""

    task: TaskSummary


class TaskReceipts(ResponseModel, frozen=True, kw_only=True):
    tasks: list[TaskSummary]


class TaskRequest(msgspec.Struct, frozen=True, kw_only=True):
    agent_id: str
    subject: str
    project: str
    arguments: TaskArguments
    """Of the kind that is asked for."""
    precondition: dict[str, str] = {}
    priority: TaskPriority | None = None
    """None: that of the kind."""
    action: str
    """Of the audit."""

    @property
    def kind(self) -> TaskKind:
        return kind_of(type(self.arguments))


async def submit(call: ApiCall, order: TaskRequest, *, part: str = "") -> TaskSummary:
    """`part`: tells the tasks of one bulk request apart."""
    await call.turn()
    key = _key(call, part)
    known = await _known(call, key)
    if known is not None:
        _check_same(known, order)
        return task_of(known)
    new = QueuedTask(
        account_id=call.account,
        agent_id=order.agent_id,
        actor=call.caller.name,
        subject=order.subject,
        project=order.project,
        arguments=order.arguments,
        precondition=order.precondition,
        priority=order.priority,
        principal_id=call.caller.id,
        idempotency_key=key,
        not_after=call.now + _NOT_AFTER,
        trace=trace_of(call.request),
    )
    id_ = await call.use(TASKS).submit(call.connection, new)
    await call.audit(
        order.action,
        order.subject,
        project=order.project,
        outcome="queued",
        detail={"task": id_, "agent": order.agent_id, **redacted(wire_arguments(order.arguments))},
    )
    return task_of(await row_of(call, id_))


async def row_of(call: ApiCall, id_: str) -> TaskRow:
    query = select(tasks).where(tasks.c.id == id_, tasks.c.account_id == call.account)
    row = await find_row(call.connection, query, TaskRow)
    if row is None:
        raise not_found(f"task {id_}")
    return row


def task_of(row: TaskRow) -> TaskSummary:
    return TaskSummary(
        id=row.id,
        kind=TaskKind(row.kind),
        subject=row.subject,
        agent=row.agent_id,
        project=row.project,
        actor=row.actor,
        phase=TaskPhase(row.phase),
        code=row.code,
        message=row.message,
        progress=row.progress,
        result=row.result,
        created_at=text_of(row.created_at),
        started_at=text_of(row.started_at),
        finished_at=text_of(row.finished_at),
    )


def _key(call: ApiCall, part: str) -> str | None:
    key = call.request.headers.get("Idempotency-Key", "")
    if len(key) > _LONGEST_KEY or not key.isprintable():
        raise ProblemError(
            422, "expected at most 200 printable characters", field="Idempotency-Key", rule="length"
        )
    if not key or not part:
        return key or None
    return hashlib.sha256(f"{key}\0{part}".encode()).hexdigest()


async def _known(call: ApiCall, key: str | None) -> TaskRow | None:
    if key is None:
        return None
    used = idempotency_keys.c
    query = (
        select(tasks)
        .join(idempotency_keys, used.task_id == tasks.c.id)
        .where(
            used.account_id == call.account, used.principal_id == call.caller.id, used.key == key
        )
    )
    return await find_row(call.connection, query, TaskRow)


def _check_same(known: TaskRow, order: TaskRequest) -> None:
    same = (
        known.kind == order.kind
        and known.agent_id == order.agent_id
        and known.subject == order.subject
        and known.arguments == wire_arguments(order.arguments)
    )
    if not same:
        raise ProblemError(
            409,
            "this key was used for another request",
            field="Idempotency-Key",
            rule="idempotency",
            remedy="Use a new key for a new request.",
        )
