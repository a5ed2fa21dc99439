"""Promoting an epoch: its objects become what everybody sees, in one transaction.

The older epoch is retired; applications and facts are made anew from the objects that waited; what
the new epoch does not know is removed. Deciding whether is epochs.py's.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import Row, delete, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from bus.link import StateBody
from service.gateway.links import Wish, wish
from service.projection.follow import Follower
from service.projection.reduce import FACT_KIND, reduce
from service.projection.values import APPLICATION, Batch, FactRow, Scope, State
from service.projection.write import known_before, write
from service.store.changes import Change, note_all
from service.store.tables import applications, epochs, instances, objects


async def promote(
    connection: AsyncConnection, scope: Scope, now: datetime, followers: Sequence[Follower]
) -> None:
    scope = msgspec.structs.replace(scope, quarantined=False)
    mine = epochs.c.agent_id == scope.agent_id
    older = select(epochs.c.epoch).where(mine, epochs.c.state == "active")
    for epoch in (await connection.execute(older)).scalars().all():
        await forget(connection, scope.agent_id, epoch, "another epoch took its place")
    this = mine & (epochs.c.epoch == scope.epoch)
    await connection.execute(update(epochs).where(this).values(state="active", reason=""))
    rows = (await connection.execute(_of_epoch(scope))).all()
    batch = _batch(rows)
    written = reduce(scope, batch, await known_before(connection, scope, batch), now)
    await write(connection, scope, written)
    left = await _drop_unknown(connection, scope, batch)
    await connection.execute(delete(instances).where(instances.c.agent_id == scope.agent_id))
    waited = objects.c.kind == FACT_KIND
    await connection.execute(delete(objects).where(_in_epoch(scope), waited))
    for follower in followers:
        left += await follower(connection, scope, batch, now)
    await wish(connection, Wish(agent_id=scope.agent_id, believed=True))
    await note_all(
        connection, scope.account_id, [*written.changes, *left, verdict_told(scope, "accepted")]
    )


async def forget(connection: AsyncConnection, agent_id: str, epoch: str, reason: str) -> None:
    """Its states; it is retired and never taken up again."""
    mine = (epochs.c.agent_id == agent_id) & (epochs.c.epoch == epoch)
    retired = update(epochs).where(mine).values(state="retired", reason=reason)
    await connection.execute(retired)
    held = (objects.c.agent_id == agent_id) & (objects.c.epoch == epoch)
    await connection.execute(delete(objects).where(held))


def verdict_told(scope: Scope, verdict: str) -> Change:
    return Change(
        type="agent.changed",
        subject=scope.agent,
        agent_id=scope.agent_id,
        body={"epoch": scope.epoch, "verdict": verdict},
    )


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
