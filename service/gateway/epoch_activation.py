"""Activation of an epoch: its objects become what everybody sees, in one transaction.

The older epoch is retired; applications and facts are made anew from the objects that waited; what
the new epoch does not know is removed. Whether an epoch is activated is decided in epochs.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import delete, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from bus.link import StateBody
from bus.link.kinds import APPLICATION
from service.projection.batch import Batch, BatchScope, FactRow, ReportedState
from service.projection.batch_changes import FACT_KIND, reduce
from service.projection.row_writes import known_before, write
from service.projection.writer import Follower
from service.store.changes import FeedChange, note_all
from service.store.link_signals import LinkSignal, signal_link
from service.store.rows import read_rows
from service.store.tables import applications, epochs, instances, objects


class StoredObjectRow(msgspec.Struct, frozen=True, kw_only=True):
    """A reported state, or a fact that waits until its epoch is believed."""

    kind: str
    subject: str
    uid: str
    hash: str
    project: str
    sequence: int
    as_of: datetime
    body: dict[str, Any]


async def activate_epoch(
    connection: AsyncConnection, scope: BatchScope, now: datetime, followers: Sequence[Follower]
) -> None:
    scope = msgspec.structs.replace(scope, quarantined=False)
    mine = epochs.c.agent_id == scope.agent_id
    older = select(epochs.c.epoch).where(mine, epochs.c.state == "active")
    for epoch in (await connection.execute(older)).scalars().all():
        await forget_epoch(connection, scope.agent_id, epoch, "another epoch took its place")
    this = mine & (epochs.c.epoch == scope.epoch)
    await connection.execute(update(epochs).where(this).values(state="active", reason=""))
    rows = await read_rows(connection, _of_epoch(scope), StoredObjectRow)
    batch = _batch(rows)
    written = reduce(scope, batch, await known_before(connection, scope, batch), now)
    await write(connection, scope, written)
    left = await _drop_unknown(connection, scope, batch)
    await connection.execute(delete(instances).where(instances.c.agent_id == scope.agent_id))
    waited = objects.c.kind == FACT_KIND
    await connection.execute(delete(objects).where(_in_epoch(scope), waited))
    for follower in followers:
        left += await follower(connection, scope, batch, now)
    await signal_link(connection, LinkSignal(agent_id=scope.agent_id, believed=True))
    await note_all(
        connection, scope.account_id, [*written.changes, *left, verdict_change(scope, "accepted")]
    )


async def forget_epoch(connection: AsyncConnection, agent_id: str, epoch: str, reason: str) -> None:
    """Delete the states of an epoch; it is retired and never taken up again."""
    mine = (epochs.c.agent_id == agent_id) & (epochs.c.epoch == epoch)
    retired = update(epochs).where(mine).values(state="retired", reason=reason)
    await connection.execute(retired)
    held = (objects.c.agent_id == agent_id) & (objects.c.epoch == epoch)
    await connection.execute(delete(objects).where(held))


def verdict_change(scope: BatchScope, verdict: str) -> FeedChange:
    return FeedChange(
        type="agent.changed",
        subject=scope.agent,
        agent_id=scope.agent_id,
        body={"epoch": scope.epoch, "verdict": verdict},
    )


async def _drop_unknown(
    connection: AsyncConnection, scope: BatchScope, batch: Batch
) -> list[FeedChange]:
    """Applications of which the believed epoch does not know."""
    lives = [state.subject for state in batch.states if state.kind == APPLICATION.name]
    subject = applications.c.namespace + "/" + applications.c.name
    unknown = delete(applications).where(
        applications.c.agent_id == scope.agent_id, subject.not_in(lives)
    )
    columns = (applications.c.id, subject.label("subject"), applications.c.project)
    return [
        FeedChange(
            type="application.removed",
            subject=row.subject,
            project=row.project,
            agent_id=scope.agent_id,
            body={"id": row.id},
        )
        for row in await connection.execute(unknown.returning(*columns))
    ]


def _of_epoch(scope: BatchScope) -> Any:
    return select(objects).where(_in_epoch(scope))


def _in_epoch(scope: BatchScope) -> Any:
    return (objects.c.agent_id == scope.agent_id) & (objects.c.epoch == scope.epoch)


def _batch(rows: Sequence[StoredObjectRow]) -> Batch:
    states = tuple(_state(row) for row in rows if row.kind != FACT_KIND)
    waited = [row.body for row in rows if row.kind == FACT_KIND]
    return Batch(states=states, facts=tuple(msgspec.convert(it, FactRow) for it in waited))


def _state(row: StoredObjectRow) -> ReportedState:
    return ReportedState(
        kind=row.kind,
        subject=row.subject,
        uid=row.uid,
        hash=row.hash,
        project=row.project,
        time=row.as_of,
        sequence=row.sequence,
        body=msgspec.convert(row.body, StateBody),
    )
