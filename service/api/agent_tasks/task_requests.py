"""Task requests to agents: the task, its audit record, and the receipt for the caller.

An Idempotency-Key makes one task of any number of equal requests; the same key with another body is
refused. The arguments of a request say of which kind the task is: bus/link/tasks.py has the types.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
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
from service.http.call import TASKS, ApiCall, AuditNote
from service.http.endpoint import ResponseModel
from service.http.fields import text_of
from service.http.problem import ProblemError, not_found
from service.observe.requests import trace_of
from service.store.rows import read_rows
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
    detail: dict[str, Any] | None = None
    """Of the audit, in place of the arguments."""

    @property
    def kind(self) -> TaskKind:
        return kind_of(type(self.arguments))


async def submit(call: ApiCall, order: TaskRequest) -> TaskSummary:
    """Submit the one task of a request."""
    (task,) = await submit_all(call, {"": order})
    return task


async def submit_all(call: ApiCall, orders: Mapping[str, TaskRequest]) -> Sequence[TaskSummary]:
    """Submit tasks by the statements of one; the keys tell those of one bulk request apart."""
    await call.turn()
    keys = {part: _key(call, part) for part in orders}
    known = await _known(call, [key for key in keys.values() if key])
    made: dict[str, QueuedTask] = {}
    for part, order in orders.items():
        if (before := known.get(keys[part] or "")) is None:
            made[part] = _queued(call, order, keys[part])
        else:
            _check_same(before, order)
    ids = await call.use(TASKS).submit_all(call.connection, list(made.values()))
    new = dict(zip(made, ids, strict=True))
    await call.audit_all([_audit_note(orders[part], id_) for part, id_ in new.items()])
    rows = await _rows_of(call, ids)
    found = {part: rows[new[part]] if part in new else known[keys[part] or ""] for part in orders}
    return [task_of(row) for row in found.values()]


def _queued(call: ApiCall, order: TaskRequest, key: str | None) -> QueuedTask:
    return QueuedTask(
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


def _audit_note(order: TaskRequest, id_: str) -> AuditNote:
    detail = order.detail if order.detail is not None else wire_arguments(order.arguments)
    return AuditNote(
        action=order.action,
        resource=order.subject,
        project=order.project,
        outcome="queued",
        detail={"task": id_, "agent": order.agent_id, **redacted(detail)},
    )


async def row_of(call: ApiCall, id_: str) -> TaskRow:
    row = (await _rows_of(call, (id_,))).get(id_)
    if row is None:
        raise not_found(f"task {id_}")
    return row


async def _rows_of(call: ApiCall, ids: Sequence[str]) -> Mapping[str, TaskRow]:
    query = select(tasks).where(tasks.c.id.in_(ids), tasks.c.account_id == call.account)
    return {row.id: row for row in await read_rows(call.connection, query, TaskRow)} if ids else {}


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


async def _known(call: ApiCall, keys: Sequence[str]) -> Mapping[str, TaskRow]:
    """Read the tasks that were made for these idempotency keys, by key."""
    if not keys:
        return {}
    used = idempotency_keys.c
    mine = (used.account_id == call.account) & (used.principal_id == call.caller.id)
    query = select(used.key, used.task_id).where(mine, used.key.in_(keys))
    ids = {row.key: row.task_id for row in (await call.connection.execute(query)).all()}
    rows = await _rows_of(call, list(ids.values()))
    return {key: rows[id_] for key, id_ in ids.items() if id_ in rows}


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
