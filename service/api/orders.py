"""Orders to agents: a task, its audit record, and the receipt that the caller gets.

An Idempotency-Key makes one task of any number of equal requests: the same key with another body is
refused. What the arguments of each kind hold:

    sync       revision, prune, dryRun, resources [{group, kind, namespace, name}], options
    refresh    hard                 rollback   historyId, prune
    put        kind, manifest (Application), or kind, name, spec and secretRef or sealed
    delete     kind, cascade        refs       url
    live       group, kind, namespace, name    manifests  revision   (tree: none)
    diff       revision; a preview as sync or rollback, with preview
    events     group, kind, namespace, name    logs       pod, container, tail, follow
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import msgspec
from sqlalchemy import RowMapping, select

from bus.link import TaskClass, TaskKind
from service.api.call import Call
from service.api.endpoint import Answer
from service.api.fields import text_of
from service.api.problem import ProblemError, not_found
from service.audit.redact import redacted
from service.gateway.tasks import NewTask
from service.store.tables import idempotency_keys, tasks

_NOT_AFTER = timedelta(hours=1)
_LONGEST_KEY = 200


class Task(Answer, frozen=True, kw_only=True):
    id: str
    kind: str
    subject: str
    agent: str
    """Its id."""
    project: str
    actor: str
    phase: str
    code: str
    message: str
    progress: dict[str, Any]
    result: Any
    """Redacted by the agent; null until it has ended, and in lists."""
    created_at: str | None
    started_at: str | None
    finished_at: str | None


class Accepted(Answer, frozen=True, kw_only=True):
    """It will be done, or refused by the agent: the task says which."""

    task: Task


class AcceptedAll(Answer, frozen=True, kw_only=True):
    tasks: list[Task]


class Order(msgspec.Struct, frozen=True, kw_only=True):
    agent_id: str
    kind: TaskKind
    subject: str
    project: str
    arguments: dict[str, Any] = {}
    precondition: dict[str, str] = {}
    clazz: TaskClass = TaskClass.INTERACTIVE
    action: str
    """Of the audit."""


async def submit(call: Call, order: Order, *, part: str = "") -> Task:
    """`part`: tells the tasks of one bulk request apart."""
    await call.turn()
    key = _key(call, part)
    known = await _known(call, key)
    if known is not None:
        _check_same(known, order)
        return task_of(known)
    new = NewTask(
        account_id=call.account,
        agent_id=order.agent_id,
        kind=order.kind,
        actor=call.caller.name,
        subject=order.subject,
        project=order.project,
        arguments=order.arguments,
        precondition=order.precondition,
        clazz=order.clazz,
        principal_id=call.caller.id,
        idempotency_key=key,
        not_after=call.now + _NOT_AFTER,
    )
    id_ = await call.tools.parts.tasks.submit(call.connection, new)
    await call.audit(
        order.action,
        order.subject,
        project=order.project,
        outcome="queued",
        detail={"task": id_, "agent": order.agent_id, **redacted(order.arguments)},
    )
    return task_of(await row_of(call, id_))


async def row_of(call: Call, id_: str) -> RowMapping:
    query = select(tasks).where(tasks.c.id == id_, tasks.c.account_id == call.account)
    found = await call.connection.execute(query)
    row: RowMapping | None = found.mappings().one_or_none()
    if row is None:
        raise not_found(f"task {id_}")
    return row


def task_of(row: RowMapping | Mapping[str, Any]) -> Task:
    return Task(
        id=row["id"],
        kind=row["kind"],
        subject=row["subject"],
        agent=row["agent_id"],
        project=row["project"],
        actor=row["actor"],
        phase=row["phase"],
        code=row["code"],
        message=row["message"],
        progress=row["progress"],
        result=row.get("result"),
        created_at=text_of(row["created_at"]),
        started_at=text_of(row["started_at"]),
        finished_at=text_of(row["finished_at"]),
    )


def _key(call: Call, part: str) -> str | None:
    given = call.request.headers.get("Idempotency-Key", "")
    if len(given) > _LONGEST_KEY or not given.isprintable():
        raise ProblemError(
            422, "expected at most 200 printable characters", field="Idempotency-Key", rule="length"
        )
    if not given or not part:
        return given or None
    return hashlib.sha256(f"{given}\0{part}".encode()).hexdigest()


async def _known(call: Call, key: str | None) -> RowMapping | None:
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
    found = await call.connection.execute(query)
    row: RowMapping | None = found.mappings().one_or_none()
    return row


def _check_same(known: RowMapping, order: Order) -> None:
    same = (
        known["kind"] == order.kind
        and known["agent_id"] == order.agent_id
        and known["subject"] == order.subject
        and known["arguments"] == msgspec.to_builtins(order.arguments)
    )
    if not same:
        raise ProblemError(
            409,
            "this key was used for another request",
            field="Idempotency-Key",
            rule="idempotency",
            remedy="Use a new key for a new request.",
        )
