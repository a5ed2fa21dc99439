"""Telling what time alone does to an agent's status: each step down, or up again, exactly once.

Every replica looks. What people were told last stands in the agent's row, and only who changes it
there, from what it saw, tells it: of any number of replicas that is one.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Row, select, update
from sqlalchemy.ext.asyncio import AsyncEngine

from service.gateway.ladder import AgentStatus, status_of
from service.store.changes import note
from service.store.tables import agents

_LINKED = (AgentStatus.CONNECTED, AgentStatus.STALE)
_SEEN = (agents.c.id, agents.c.state, agents.c.status, agents.c.connected, agents.c.heard_at)


async def tell_silence(engine: AsyncEngine, now: datetime) -> int:
    """How many agents were told to be something else than before."""
    moving = agents.c.connected | (agents.c.status != AgentStatus.LOST)
    query = select(*_SEEN).where(agents.c.state == "enrolled", agents.c.heard_at.is_not(None))
    async with engine.connect() as connection:
        rows = (await connection.execute(query.where(moving))).all()
    told = 0
    for row in rows:
        status = status_of(row.state, row.heard_at, now, connected=row.connected)
        if status != row.status:
            told += await _tell(engine, row, status)
    return told


async def _tell(engine: AsyncEngine, seen: Row[*tuple[Any, ...]], status: AgentStatus) -> bool:
    """False where it is not as we saw it any more: whoever changed it has told it."""
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
