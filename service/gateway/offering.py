"""Offering tasks to an agent: queued -> offered, a bounded number of each class at once.

Not more begin in a minute than the agent says it does (`allowed` of its Hello), reads and writes
each for themselves; the rest stays queued, in order.

An offer is a lease: without a sign of life of the task for thirty seconds it is offered again, and
after a reconnect at once. That is always safe, because the agent answers a repeated id from its
log of results and ignores one that is running. What nobody answers ends as `expired` before it was
offered, and as `unknown` after.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Row, case, func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from bus.link import Offer, Task, TaskClass, TaskKind, TaskPhase
from service.gateway.ladder import LOST_AFTER
from service.gateway.opening import Opened
from service.gateway.tasks import end
from service.projection.reports import LEASE
from service.store.tables import agents, tasks

AT_ONCE = {TaskClass.INTERACTIVE: 8, TaskClass.CONTROL: 4, TaskClass.BULK: 4}
"""Of one agent: a flood of one class does not hold up another."""
_BEGUN = (TaskPhase.OFFERED, TaskPhase.RUNNING)
_CANDIDATES = 64
_MINUTE = timedelta(minutes=1)
_UNLIMITED = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What an agent may be offered now: by class at once, by reads and writes in a minute."""

    begun: dict[str, int]
    left: dict[bool, int]

    def takes(self, clazz: TaskClass, kind: TaskKind) -> bool:
        """Counts it where it does."""
        if self.begun.get(clazz, 0) >= AT_ONCE[clazz] or self.left[kind.writes] <= 0:
            return False
        self.begun[clazz] = self.begun.get(clazz, 0) + 1
        self.left[kind.writes] -= 1
        return True


async def offers(
    connection: AsyncConnection,
    opened: Opened,
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
    rows = (await connection.execute(locked)).all()
    if not rows:
        return ()
    room = Room(
        begun=await _begun(connection, agent_id),
        left=await _left(connection, agent_id, now),
    )
    return tuple([await _offer(connection, row, fence, now) for row in _fitting(rows, room, now)])


async def end_unanswered(connection: AsyncConnection, now: datetime) -> int:
    """Queued past their time; begun by agents that have been lost since. How many ended."""
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
    return len(rows)


def _verdict(row: Any) -> tuple[TaskPhase, str]:
    if row.phase == TaskPhase.QUEUED or not TaskKind(row.kind).writes:
        return TaskPhase.EXPIRED, "the agent was not there in time"
    return TaskPhase.UNKNOWN, "the agent was lost while it ran: look at the cluster"


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
    query = select(tasks.c.clazz).where(tasks.c.agent_id == agent_id, tasks.c.phase.in_(_BEGUN))
    found: dict[str, int] = {}
    for clazz in (await connection.execute(query)).scalars():
        found[clazz] = found.get(clazz, 0) + 1
    return found


async def _left(connection: AsyncConnection, agent_id: str, now: datetime) -> dict[bool, int]:
    """How many more may begin in this minute: writes (True) and reads (False)."""
    allowed = await connection.scalar(select(agents.c.allowed).where(agents.c.id == agent_id))
    lately = (tasks.c.agent_id == agent_id) & (tasks.c.started_at > now - _MINUTE)
    query = select(tasks.c.kind, func.count()).where(lately).group_by(tasks.c.kind)
    found = allowance(allowed or {})
    for kind, many in (await connection.execute(query)).all():
        found[TaskKind(kind).writes] -= many
    return found


def allowance(allowed: Mapping[str, Any]) -> dict[bool, int]:
    """What an agent says it begins in a minute; one that says nothing is not held back."""
    names = {True: "maxPerMinute", False: "maxReadsPerMinute"}
    said = {writes: allowed.get(name) for writes, name in names.items()}
    return {
        writes: limit if isinstance(limit, int) and limit > 0 else _UNLIMITED
        for writes, limit in said.items()
    }


def _fitting(rows: Sequence[Row[Any]], room: Room, now: datetime) -> Iterator[Row[Any]]:
    """Those that are repeated count already; of the others, as many as there is room for."""
    for row in rows:
        if row.phase == TaskPhase.QUEUED:
            if row.not_after is not None and row.not_after <= now:
                continue
            if not room.takes(TaskClass(row.clazz), TaskKind(row.kind)):
                continue
        yield row


async def _offer(connection: AsyncConnection, row: Row[Any], fence: int, now: datetime) -> Offer:
    values = {
        "phase": TaskPhase.OFFERED if row.phase == TaskPhase.QUEUED else row.phase,
        "attempts": tasks.c.attempts + 1,
        "fence": fence,
        "lease_until": now + LEASE,
        "started_at": row.started_at or now,
    }
    await connection.execute(update(tasks).where(tasks.c.id == row.id).values(values))
    task = Task(
        id=row.id,
        kind=TaskKind(row.kind),
        subject=row.subject,
        actor=row.actor,
        arguments=row.arguments,
        clazz=TaskClass(row.clazz),
        precondition=row.precondition,
        not_after="" if row.not_after is None else row.not_after.isoformat(),
        fence=fence,
    )
    return Offer(task=task)


def _rank() -> Any:
    order = {clazz: place for place, clazz in enumerate(TaskClass)}
    return case(order, value=tasks.c.clazz)
