"""Offers of tasks to an agent: queued -> offered, a bounded number of each priority at once.

No more begin in a minute than the agent says it begins (`allowed` of its Hello), reads and writes
apart; the rest stays queued, in order.

An offer is a lease: a task without a sign of life for thirty seconds is offered again, and after a
reconnect at once. That is always safe, because the agent answers a repeated id from its log of
results and ignores one that is running. Tasks that nobody answers are
ended by task_ends.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import msgspec
from sqlalchemy import case, func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from bus.link import LinkTask, Offer, TaskKind, TaskPhase, TaskPriority
from service.gateway.agent_task_kinds import agent_task_kinds
from service.gateway.link_opening import OpenedLink
from service.gateway.task_ends import end
from service.projection.task_reports import LEASE
from service.store.rows import read_rows
from service.store.tables import agents, tasks

AT_ONCE = {TaskPriority.INTERACTIVE: 8, TaskPriority.CONTROL: 4, TaskPriority.BULK: 4}
"""Of one agent: a flood of one priority does not hold up another."""
_UNCOUNTED = TaskKind.EXEC
"""Open for as long as a person wants: agents have a limit of their own for shells."""
_BEGUN = (TaskPhase.OFFERED, TaskPhase.RUNNING)
_CANDIDATES = 64
_MINUTE = timedelta(minutes=1)
_UNLIMITED = 1_000_000


class OfferableTaskRow(msgspec.Struct, frozen=True, kw_only=True):
    """A task that is queued, or whose offer is repeated."""

    id: str
    kind: str
    subject: str
    actor: str
    arguments: dict[str, Any]
    precondition: dict[str, str]
    priority: str
    phase: str
    not_after: datetime | None
    started_at: datetime | None
    traceparent: str
    tracestate: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferAllowance:
    """What an agent may be offered now: by priority at once, by reads and writes in a minute."""

    begun: dict[str, int]
    left: dict[bool, int]

    def takes(self, priority: TaskPriority, kind: TaskKind) -> bool:
        """Counts it where it does."""
        begun = self.begun.get(priority, 0)
        counted = kind is not _UNCOUNTED
        if (counted and begun >= AT_ONCE[priority]) or self.left[kind.counts_as_write] <= 0:
            return False
        self.begun[priority] = begun + counted
        self.left[kind.counts_as_write] -= 1
        return True


async def offers(
    connection: AsyncConnection,
    opened: OpenedLink,
    now: datetime,
    running: Sequence[str] = (),
    *,
    first: bool = False,
) -> tuple[Offer, ...]:
    """`first`: of this connection; what an older one was offered is offered again."""
    agent_id, fence = opened.scope.agent_id, opened.fence
    await _keep(connection, agent_id, running, fence, now)
    again = tasks.c.fence < fence if first else tasks.c.lease_until < now
    again &= tasks.c.phase.in_(_BEGUN)
    waiting = tasks.c.phase == TaskPhase.QUEUED
    mine = tasks.c.agent_id == agent_id
    query = select(tasks).where(mine, waiting | again).order_by(_rank(), tasks.c.id)
    locked = query.limit(_CANDIDATES).with_for_update(skip_locked=True)
    rows = await read_rows(connection, locked, OfferableTaskRow)
    if not rows:
        return ()
    rows = await _supported(connection, agent_id, rows, now)
    allowance = OfferAllowance(
        begun=await _begun(connection, agent_id),
        left=await _left(connection, agent_id, now),
    )
    return tuple(
        [await _offer(connection, row, fence, now) for row in _fitting(rows, allowance, now)]
    )


async def _supported(
    connection: AsyncConnection, agent_id: str, rows: Sequence[OfferableTaskRow], now: datetime
) -> list[OfferableTaskRow]:
    """Leave out, and end, queued tasks of kinds that the agent does not do.

    They were submitted before it connected with this version; it would ignore them.
    """
    known = await agent_task_kinds(connection, agent_id)
    left: list[OfferableTaskRow] = []
    for row in rows:
        kind = TaskKind(row.kind)
        if known is None or row.phase != TaskPhase.QUEUED or known.supports(kind):
            left.append(row)
        else:
            await end(connection, row.id, TaskPhase.FAILED, known.refusal(kind), now)
    return left


async def _keep(
    connection: AsyncConnection, agent_id: str, running: Sequence[str], fence: int, now: datetime
) -> None:
    """What runs there keeps running: it is not offered a second time."""
    if not running:
        return
    mine = (tasks.c.agent_id == agent_id) & tasks.c.id.in_(running) & tasks.c.phase.in_(_BEGUN)
    values = {"phase": TaskPhase.RUNNING, "lease_until": now + LEASE, "fence": fence}
    await connection.execute(update(tasks).where(mine).values(values))


async def _begun(connection: AsyncConnection, agent_id: str) -> dict[str, int]:
    counted = tasks.c.phase.in_(_BEGUN) & (tasks.c.kind != _UNCOUNTED)
    query = select(tasks.c.priority).where(tasks.c.agent_id == agent_id, counted)
    found: dict[str, int] = {}
    for priority in (await connection.execute(query)).scalars():
        found[priority] = found.get(priority, 0) + 1
    return found


async def _left(connection: AsyncConnection, agent_id: str, now: datetime) -> dict[bool, int]:
    """How many more may begin in this minute: writes (True) and reads (False)."""
    allowed = await connection.scalar(select(agents.c.allowed).where(agents.c.id == agent_id))
    lately = (tasks.c.agent_id == agent_id) & (tasks.c.started_at > now - _MINUTE)
    query = select(tasks.c.kind, func.count()).where(lately).group_by(tasks.c.kind)
    found = allowance(allowed or {})
    for kind, many in (await connection.execute(query)).all():
        found[TaskKind(kind).counts_as_write] -= many
    return found


def allowance(allowed: Mapping[str, Any]) -> dict[bool, int]:
    """What an agent says it begins in a minute; one that says nothing is not held back."""
    names = {True: "maxPerMinute", False: "maxReadsPerMinute"}
    limits = {writes: allowed.get(name) for writes, name in names.items()}
    return {
        writes: limit if isinstance(limit, int) and limit > 0 else _UNLIMITED
        for writes, limit in limits.items()
    }


def _fitting(
    rows: Sequence[OfferableTaskRow], allowance: OfferAllowance, now: datetime
) -> Iterator[OfferableTaskRow]:
    """Those that are repeated count already; of the others, as many as there is room for."""
    for row in rows:
        if row.phase == TaskPhase.QUEUED:
            if row.not_after is not None and row.not_after <= now:
                continue
            if not allowance.takes(TaskPriority(row.priority), TaskKind(row.kind)):
                continue
        yield row


async def _offer(
    connection: AsyncConnection, row: OfferableTaskRow, fence: int, now: datetime
) -> Offer:
    values = {
        "phase": TaskPhase.OFFERED if row.phase == TaskPhase.QUEUED else row.phase,
        "attempts": tasks.c.attempts + 1,
        "fence": fence,
        "lease_until": now + LEASE,
        "started_at": row.started_at or now,
    }
    await connection.execute(update(tasks).where(tasks.c.id == row.id).values(values))
    task = LinkTask(
        id=row.id,
        kind=TaskKind(row.kind),
        subject=row.subject,
        actor=row.actor,
        arguments=row.arguments,
        priority=TaskPriority(row.priority),
        precondition=row.precondition,
        not_after="" if row.not_after is None else row.not_after.isoformat(),
        fence=fence,
        traceparent=row.traceparent,
        tracestate=row.tracestate,
    )
    return Offer(task=task)


def _rank() -> Any:
    order = {priority: place for place, priority in enumerate(TaskPriority)}
    return case(order, value=tasks.c.priority)
