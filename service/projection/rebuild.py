"""Dropping the cache of an agent: everything that it can tell again is deleted and asked for.

Facts, tasks and the audit are records of what happened, not cache: they stay. The agent's link asks
for all bodies, as after any difference, and ends in step.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import delete, update
from sqlalchemy.ext.asyncio import AsyncConnection

from service.gateway.links import Wish, wish
from service.store.tables import agents, applications, instances, objects

_LONGEST = timedelta(minutes=10)
"""After that it has failed, and may be asked for again."""


def rebuilding(
    rebuilt_at: datetime | None, now: datetime, *, in_step: bool | None
) -> datetime | None:
    """Since when an agent's cache is being rebuilt; None: it is not."""
    over = rebuilt_at is None or in_step or now - rebuilt_at > _LONGEST
    return None if over else rebuilt_at


async def drop_cache(connection: AsyncConnection, agent_id: str, now: datetime) -> None:
    """`rootsInStep` of the agent is unknown until both sides were compared again."""
    for table in (objects, applications, instances):
        await connection.execute(delete(table).where(table.c.agent_id == agent_id))
    unknown: dict[str, object] = {
        "roots_in_step": None,
        "roots_at": None,
        "components": [],
        "doubted": {},
    }
    this = update(agents).where(agents.c.id == agent_id)
    await connection.execute(this.values(**unknown, rebuilt_at=now))
    await wish(connection, Wish(agent_id=agent_id, resync=True))
