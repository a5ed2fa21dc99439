"""Agent status: how an agent stands, by its link and by its last sign of life.

    connected -> stale (three beats missed) -> disconnected (two minutes) -> lost (fifteen)

A link that ended in order is disconnected at once. What time alone changes is announced exactly
once: every replica checks, the status that was announced last is stored in the agent's row, and
only the replica that changes the row, from the values that it read, announces.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from sqlalchemy import Row, select, update
from sqlalchemy.ext.asyncio import AsyncEngine

from service.store.changes import note
from service.store.tables import agents

STALE_AFTER = timedelta(seconds=45)
DISCONNECTED_AFTER = timedelta(minutes=2)
LOST_AFTER = timedelta(minutes=15)
_SEEN = (agents.c.id, agents.c.state, agents.c.status, agents.c.connected, agents.c.heard_at)


class AgentStatus(StrEnum):
    CONNECTED = "connected"
    STALE = "stale"
    DISCONNECTED = "disconnected"
    LOST = "lost"
    WAITING = "waiting"
    """Never heard."""
    REVOKED = "revoked"


_LINKED = (AgentStatus.CONNECTED, AgentStatus.STALE)


def status_of(
    state: str, heard_at: datetime | None, now: datetime, *, connected: bool
) -> AgentStatus:
    """`connected`: some replica holds its link, or died while it did."""
    if state == "revoked":
        return AgentStatus.REVOKED
    if heard_at is None:
        return AgentStatus.WAITING
    age = now - heard_at
    if age >= LOST_AFTER:
        return AgentStatus.LOST
    if age >= DISCONNECTED_AFTER or not connected:
        return AgentStatus.DISCONNECTED
    return AgentStatus.STALE if age >= STALE_AFTER else AgentStatus.CONNECTED


async def report_liveness(engine: AsyncEngine, now: datetime) -> int:
    """Announce the statuses that time has changed; return how many agents."""
    moving = agents.c.connected | (agents.c.status != AgentStatus.LOST)
    query = select(*_SEEN).where(agents.c.state == "enrolled", agents.c.heard_at.is_not(None))
    async with engine.connect() as connection:
        rows = (await connection.execute(query.where(moving))).all()
    announced = 0
    for row in rows:
        status = status_of(row.state, row.heard_at, now, connected=row.connected)
        if status != row.status:
            announced += await _announce(engine, row, status)
    return announced


async def _announce(engine: AsyncEngine, seen: Row[*tuple[Any, ...]], status: AgentStatus) -> bool:
    """Announce one status; False where the row has changed, and its writer announced it."""
    unchanged = [column == getattr(seen, column.name) for column in _SEEN]
    values = {"status": status, "connected": seen.connected and status in _LINKED}
    change = update(agents).where(*unchanged).values(values)
    async with engine.begin() as connection:
        changed = await connection.execute(change.returning(agents.c.account_id, agents.c.name))
        row = changed.one_or_none()
        if row is None:
            return False
        body = {"status": status}
        await note(connection, row.account_id, "agent.changed", row.name, "", seen.id, body)
    return True
