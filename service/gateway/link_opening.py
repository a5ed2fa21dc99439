"""The opening of a link: a new fence, and the state of the epoch that the agent brings.

The first epoch of an agent is active. Any later one is quarantined: a fresh disk, a restored backup
or another cluster under the same name, and only its objects can tell which. The states of a
quarantined epoch are stored under their epoch and shown to nobody.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec
from sqlalchemy import func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from bus.link import Hello
from service.gateway.agent_status import AgentStatus
from service.gateway.sessions import SessionHolder
from service.projection.batch import BatchScope, clip
from service.store.changes import note
from service.store.link_signals import LinkSignal, signal_link
from service.store.rows import find_row, read_row
from service.store.tables import agents, epochs

REJECTED = "rejected"
"""The reason of an epoch that a person did not want."""
EPOCHS, EPOCHS_WITHIN = 12, timedelta(hours=1)
"""How many new epochs an agent may bring in how long: each keeps what it says apart."""
_LOCK = 0x67740004


class TooManyEpochsError(Exception):
    """The agent's outbox was made anew too often; nothing was stored."""


class OpenedLink(msgspec.Struct, frozen=True, kw_only=True):
    scope: BatchScope
    fence: int
    cursor: int


class EpochRow(msgspec.Struct, frozen=True, kw_only=True):
    agent_id: str
    epoch: str
    cursor: int
    state: str
    reason: str


class TakenLinkRow(msgspec.Struct, frozen=True, kw_only=True):
    """The agent as it is once the link is its own."""

    name: str
    environment: str
    region: str
    fence: int


async def open_link(
    connection: AsyncConnection, caller: SessionHolder, hello: Hello, replica: str, now: datetime
) -> OpenedLink | None:
    """Open a link; None for a revoked agent or a rejected epoch. Older connections get the fence.

    Raises TooManyEpochsError.

    Locks in the order of the writer: the epoch, then the agent.
    """
    turn = func.pg_advisory_xact_lock(_LOCK, func.hashtext(caller.agent_id))
    await connection.execute(select(turn))
    epoch = await _epoch(connection, caller.agent_id, hello, now)
    if epoch.state == "retired":
        return None
    cursor = await _cursor(connection, epoch, hello)
    row = await _take_over(connection, caller, hello, replica, now)
    if row is None:
        return None
    await signal_link(connection, LinkSignal(agent_id=caller.agent_id, fence=row.fence))
    body = {"status": AgentStatus.CONNECTED}
    agent = caller.agent_id
    await note(connection, caller.account_id, "agent.changed", row.name, "", agent, body)
    scope = BatchScope(
        account_id=caller.account_id,
        agent_id=caller.agent_id,
        agent=row.name,
        environment=row.environment,
        region=row.region,
        epoch=epoch.epoch,
        quarantined=epoch.state != "active",
    )
    return OpenedLink(scope=scope, fence=row.fence, cursor=cursor)


async def _take_over(
    connection: AsyncConnection, caller: SessionHolder, hello: Hello, replica: str, now: datetime
) -> TakenLinkRow | None:
    """Raise the agent's fence and note the link; None where the agent is not enrolled."""
    values = {
        "fence": agents.c.fence + 1,
        "connected": True,
        "status": AgentStatus.CONNECTED,
        "replica": replica,
        "connected_at": now,
        "heard_at": now,
        "agent_version": clip(hello.version, 64),
        "capabilities": [clip(word, 64) for word in hello.capabilities[:64]],
        "allowed": hello.allowed,
        "doubted": {},
    }
    mine = (agents.c.id == caller.agent_id) & (agents.c.state == "enrolled")
    taken = update(agents).where(mine).values(values).returning(agents)
    return await find_row(connection, taken, TakenLinkRow)


async def _epoch(
    connection: AsyncConnection, agent_id: str, hello: Hello, now: datetime
) -> EpochRow:
    """Read and lock the row of this epoch, or make it where it is new."""
    epoch, mine = clip(hello.epoch, 36), epochs.c.agent_id == agent_id
    query = select(epochs).where(mine, epochs.c.epoch == epoch).with_for_update()
    found = await find_row(connection, query, EpochRow)
    if found is not None and found.state == "retired" and found.reason != REJECTED:
        return await _returned(connection, found)
    if found is not None:
        return found
    await _check_rate(connection, agent_id, now)
    active = select(epochs.c.epoch).where(mine, epochs.c.state == "active")
    first = (await connection.execute(active)).first() is None
    known = select(agents.c.cluster_uid).where(agents.c.id == agent_id)
    cluster = (await connection.execute(known)).scalar_one()
    values = {
        "agent_id": agent_id,
        "epoch": epoch,
        "state": "active" if first else "quarantined",
        "reason": "" if first else _reason(cluster, hello),
        "created_at": now,
    }
    return await read_row(connection, insert(epochs).values(values).returning(epochs), EpochRow)


async def _check_rate(connection: AsyncConnection, agent_id: str, now: datetime) -> None:
    recent = select(func.count()).where(
        epochs.c.agent_id == agent_id, epochs.c.created_at > now - EPOCHS_WITHIN
    )
    if int((await connection.execute(recent)).scalar_one()) >= EPOCHS:
        raise TooManyEpochsError(
            f"this agent's outbox was made anew {EPOCHS} times within an hour: come back later, and"
            " look why its disk does not last"
        )


async def _returned(connection: AsyncConnection, epoch: EpochRow) -> EpochRow:
    """Quarantine an epoch that another had replaced: a disk that is back is judged anew."""
    mine = (epochs.c.agent_id == epoch.agent_id) & (epochs.c.epoch == epoch.epoch)
    values = {"state": "quarantined", "cursor": 0, "reason": "an older outbox came back"}
    changed = update(epochs).where(mine).values(values).returning(epochs)
    return await read_row(connection, changed, EpochRow)


def _reason(cluster: str, hello: Hello) -> str:
    if cluster and hello.cluster_uid not in ("", cluster):
        return "another cluster answers under this agent's name"
    return "the agent's outbox is a new one; waiting until it holds what is known"


async def _cursor(connection: AsyncConnection, epoch: EpochRow, hello: Hello) -> int:
    """An outbox that is shorter than what was applied was restored: go on from its end."""
    # An outbox that reaches the cursor is the normal case; 0 is the default and tells nothing.
    if not 0 < hello.outbox < epoch.cursor:
        return epoch.cursor
    mine = (epochs.c.agent_id == epoch.agent_id) & (epochs.c.epoch == epoch.epoch)
    await connection.execute(update(epochs).where(mine).values(cursor=hello.outbox))
    return hello.outbox


async def close_link(connection: AsyncConnection, opened: OpenedLink) -> None:
    """Only where no newer connection has taken over, and its end was not told already."""
    scope, status = opened.scope, AgentStatus.DISCONNECTED
    mine = (agents.c.id == scope.agent_id) & (agents.c.fence == opened.fence) & agents.c.connected
    ended = update(agents).where(mine).values(connected=False, status=status)
    if (await connection.execute(ended.returning(agents.c.id))).first() is None:
        return
    body = {"status": status}
    await note(connection, scope.account_id, "agent.changed", scope.agent, "", scope.agent_id, body)
