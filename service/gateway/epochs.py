"""Verdicts on quarantined epochs, by overlap or by a person.

An epoch is accepted when it is complete (its roots equal the service's) and at least half of the
known objects are in it under the same subject and uid. An empty cluster has no overlap, so its
epoch stays quarantined. epoch_activation.py does what follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from bus.link.kinds import COMPONENT
from service.gateway.epoch_activation import activate_epoch, forget_epoch, verdict_change
from service.gateway.link_opening import REJECTED
from service.projection.batch import BatchScope
from service.projection.writer import Follower
from service.store.changes import note_all
from service.store.link_signals import LinkSignal, signal_link
from service.store.tables import agents, epochs, objects

OVERLAP = 0.5


async def believe_if_overlapping(
    connection: AsyncConnection,
    scope: BatchScope,
    now: datetime,
    followers: Sequence[Follower] = (),
) -> bool:
    """Called when the quarantined epoch of `scope` is complete, to see whether it may be shown.

    A person may have decided meanwhile, and the word of it may be lost: what is active already is
    not promoted a second time (that would throw out what it holds), what was rejected never.
    """
    await _lock(connection, scope.agent_id)
    state = await _state(connection, scope)
    if state != "quarantined":
        return state == "active"
    known, shared = await _overlap(connection, scope)
    if shared < OVERLAP * known:
        reason = f"{shared} of {known} known objects are in it: a person has to decide"
        mine = (epochs.c.agent_id == scope.agent_id) & (epochs.c.epoch == scope.epoch)
        await connection.execute(update(epochs).where(mine).values(reason=reason))
        return False
    await activate_epoch(connection, scope, now, followers)
    return True


async def accept(
    connection: AsyncConnection,
    agent_id: str,
    epoch: str,
    now: datetime,
    followers: Sequence[Follower] = (),
) -> bool:
    """A person says that this epoch is the truth. False: there is no such quarantined epoch.

    `followers`: see service/history/batch_follower.py; what they keep is brought up to date too.
    """
    scope = await _scope(connection, agent_id, epoch)
    if scope is None:
        return False
    await activate_epoch(connection, scope, now, followers)
    return True


async def reject(connection: AsyncConnection, agent_id: str, epoch: str) -> bool:
    """Forget what a quarantined epoch reported; its link ends, and returns with another epoch."""
    scope = await _scope(connection, agent_id, epoch)
    if scope is None:
        return False
    await forget_epoch(connection, agent_id, epoch, REJECTED)
    fence = update(agents).where(agents.c.id == agent_id).values(fence=agents.c.fence + 1)
    newest = (await connection.execute(fence.returning(agents.c.fence))).scalar_one()
    await signal_link(connection, LinkSignal(agent_id=agent_id, fence=newest))
    await note_all(connection, scope.account_id, [verdict_change(scope, "rejected")])
    return True


async def _state(connection: AsyncConnection, scope: BatchScope) -> str:
    mine = (epochs.c.agent_id == scope.agent_id) & (epochs.c.epoch == scope.epoch)
    return str((await connection.execute(select(epochs.c.state).where(mine))).scalar_one())


async def _overlap(connection: AsyncConnection, scope: BatchScope) -> tuple[int, int]:
    """Count the objects of the active epoch, and those of them that this epoch has too."""
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
        .where(known.c.kind != COMPONENT.name)
    )
    row = (await connection.execute(query)).one()
    return int(row[0]), int(row[1])


async def _scope(connection: AsyncConnection, agent_id: str, epoch: str) -> BatchScope | None:
    await _lock(connection, agent_id)
    query = (
        select(agents, epochs.c.epoch)
        .join(epochs, epochs.c.agent_id == agents.c.id)
        .where(agents.c.id == agent_id, epochs.c.epoch == epoch, epochs.c.state == "quarantined")
    )
    row = (await connection.execute(query)).one_or_none()
    if row is None:
        return None
    return BatchScope(
        account_id=row.account_id,
        agent_id=row.id,
        agent=row.name,
        environment=row.environment,
        region=row.region,
        epoch=row.epoch,
        quarantined=True,
    )


async def _lock(connection: AsyncConnection, agent_id: str) -> None:
    """Lock all epochs of the agent: nobody writes or judges meanwhile."""
    query = select(epochs.c.epoch).where(epochs.c.agent_id == agent_id)
    await connection.execute(query.order_by(epochs.c.epoch).with_for_update())
