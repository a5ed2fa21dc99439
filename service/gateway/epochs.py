"""Believing an epoch: from quarantine to what everybody sees, by overlap or by a person's word.

A new epoch is believed when it is complete (its roots are ours) and at least half of what is known
lives in it under the same identity: subject and uid. Then the old one is retired, and the tables of
applications and facts are made anew from its objects, in one transaction. An empty cluster has no
overlap, so it stays where it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import Row, delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from bus.link import StateBody
from service.gateway.links import Wish, wish
from service.projection.follow import Follower
from service.projection.reduce import FACT_KIND, reduce
from service.projection.values import APPLICATION, COMPONENT, Batch, FactRow, Scope, State
from service.projection.write import known_before, write
from service.store.changes import Change, note_all
from service.store.tables import agents, applications, epochs, objects

OVERLAP = 0.5


async def believe_if_overlapping(
    connection: AsyncConnection, scope: Scope, now: datetime, followers: Sequence[Follower] = ()
) -> bool:
    """Called when the quarantined epoch of `scope` is complete."""
    await _lock(connection, scope.agent_id)
    known, shared = await _overlap(connection, scope)
    if shared < OVERLAP * known:
        reason = f"{shared} of {known} known objects are in it: a person has to decide"
        mine = (epochs.c.agent_id == scope.agent_id) & (epochs.c.epoch == scope.epoch)
        await connection.execute(update(epochs).where(mine).values(reason=reason))
        return False
    await _promote(connection, scope, now, followers)
    return True


async def accept(
    connection: AsyncConnection,
    agent_id: str,
    epoch: str,
    now: datetime,
    followers: Sequence[Follower] = (),
) -> bool:
    """A person says that this epoch is the truth. False: there is no such quarantined epoch.

    `followers`: see service/rooms_follow.py; what they keep is brought up to date as well.
    """
    scope = await _scope(connection, agent_id, epoch)
    if scope is None:
        return False
    await _promote(connection, scope, now, followers)
    return True


async def reject(connection: AsyncConnection, agent_id: str, epoch: str) -> bool:
    """What it said is forgotten; its link ends, and comes back only with another epoch."""
    scope = await _scope(connection, agent_id, epoch)
    if scope is None:
        return False
    await _forget(connection, agent_id, epoch, "rejected")
    fence = update(agents).where(agents.c.id == agent_id).values(fence=agents.c.fence + 1)
    newest = (await connection.execute(fence.returning(agents.c.fence))).scalar_one()
    await wish(connection, Wish(agent_id=agent_id, fence=newest))
    await note_all(connection, scope.account_id, [_told(scope, "rejected")])
    return True


async def _promote(
    connection: AsyncConnection, scope: Scope, now: datetime, followers: Sequence[Follower]
) -> None:
    scope = msgspec.structs.replace(scope, quarantined=False)
    mine = epochs.c.agent_id == scope.agent_id
    older = select(epochs.c.epoch).where(mine, epochs.c.state == "active")
    for epoch in (await connection.execute(older)).scalars().all():
        await _forget(connection, scope.agent_id, epoch, "another epoch took its place")
    this = mine & (epochs.c.epoch == scope.epoch)
    await connection.execute(update(epochs).where(this).values(state="active", reason=""))
    rows = (await connection.execute(_of_epoch(scope))).all()
    batch = _batch(rows)
    written = reduce(scope, batch, await known_before(connection, scope, batch), now)
    await write(connection, scope, written)
    left = await _drop_unknown(connection, scope, batch)
    waited = objects.c.kind == FACT_KIND
    await connection.execute(delete(objects).where(_in_epoch(scope), waited))
    for follower in followers:
        left += await follower(connection, scope, batch, now)
    await wish(connection, Wish(agent_id=scope.agent_id, believed=True))
    await note_all(
        connection, scope.account_id, [*written.changes, *left, _told(scope, "accepted")]
    )


async def _forget(connection: AsyncConnection, agent_id: str, epoch: str, reason: str) -> None:
    mine = (epochs.c.agent_id == agent_id) & (epochs.c.epoch == epoch)
    retired = update(epochs).where(mine).values(state="retired", reason=reason)
    await connection.execute(retired)
    held = (objects.c.agent_id == agent_id) & (objects.c.epoch == epoch)
    await connection.execute(delete(objects).where(held))


async def _overlap(connection: AsyncConnection, scope: Scope) -> tuple[int, int]:
    """How many objects are known of the active epoch, and how many of them are in this one."""
    known, new = objects.alias(), objects.alias()
    active = select(epochs.c.epoch).where(
        epochs.c.agent_id == scope.agent_id, epochs.c.state == "active"
    )
    same = (
        (new.c.agent_id == known.c.agent_id)
        & (new.c.epoch == scope.epoch)
        & (new.c.kind == known.c.kind)
        & (new.c.subject == known.c.subject)
        & (new.c.uid == known.c.uid)
    )
    query = (
        select(func.count(), func.count(new.c.subject))
        .select_from(known.outerjoin(new, same))
        .where(known.c.agent_id == scope.agent_id, known.c.epoch.in_(active))
        .where(known.c.kind != COMPONENT)
    )
    row = (await connection.execute(query)).one()
    return int(row[0]), int(row[1])


async def _drop_unknown(connection: AsyncConnection, scope: Scope, batch: Batch) -> list[Change]:
    """Applications of which the believed epoch does not know."""
    lives = [state.subject for state in batch.states if state.kind == APPLICATION]
    subject = applications.c.namespace + "/" + applications.c.name
    unknown = delete(applications).where(
        applications.c.agent_id == scope.agent_id, subject.not_in(lives)
    )
    columns = (applications.c.id, subject.label("subject"), applications.c.project)
    return [
        Change(
            type="application.removed",
            subject=row.subject,
            project=row.project,
            agent_id=scope.agent_id,
            body={"id": row.id},
        )
        for row in await connection.execute(unknown.returning(*columns))
    ]


async def _scope(connection: AsyncConnection, agent_id: str, epoch: str) -> Scope | None:
    await _lock(connection, agent_id)
    query = (
        select(agents, epochs.c.epoch)
        .join(epochs, epochs.c.agent_id == agents.c.id)
        .where(agents.c.id == agent_id, epochs.c.epoch == epoch, epochs.c.state == "quarantined")
    )
    row = (await connection.execute(query)).one_or_none()
    if row is None:
        return None
    return Scope(
        account_id=row.account_id,
        agent_id=row.id,
        agent=row.name,
        environment=row.environment,
        region=row.region,
        epoch=row.epoch,
        quarantined=True,
    )


async def _lock(connection: AsyncConnection, agent_id: str) -> None:
    """All epochs of the agent: nobody writes or judges meanwhile."""
    query = select(epochs.c.epoch).where(epochs.c.agent_id == agent_id)
    await connection.execute(query.order_by(epochs.c.epoch).with_for_update())


def _of_epoch(scope: Scope) -> Any:
    return select(objects).where(_in_epoch(scope))


def _in_epoch(scope: Scope) -> Any:
    return (objects.c.agent_id == scope.agent_id) & (objects.c.epoch == scope.epoch)


def _batch(rows: Sequence[Row[Any]]) -> Batch:
    states = tuple(_state(row) for row in rows if row.kind != FACT_KIND)
    waited = [row.body for row in rows if row.kind == FACT_KIND]
    return Batch(states=states, facts=tuple(msgspec.convert(it, FactRow) for it in waited))


def _state(row: Row[Any]) -> State:
    return State(
        kind=row.kind,
        subject=row.subject,
        uid=row.uid,
        hash=row.hash,
        project=row.project,
        time=row.as_of,
        sequence=row.sequence,
        body=msgspec.convert(row.body, StateBody),
    )


def _told(scope: Scope, verdict: str) -> Change:
    return Change(
        type="agent.changed",
        subject=scope.agent,
        agent_id=scope.agent_id,
        body={"epoch": scope.epoch, "verdict": verdict},
    )
