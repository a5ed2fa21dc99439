"""Dropping the cache of an agent: everything that it can tell again is deleted and asked for.

Facts, tasks and the audit are records of what happened, not cache: they stay. The agent's link asks
for all bodies, as after any difference, and ends in step; without a link that happens at the next.
"""

from __future__ import annotations

from sqlalchemy import delete, update
from sqlalchemy.ext.asyncio import AsyncConnection

from service.gateway.links import Wish, wish
from service.store.tables import agents, applications, instances, objects


async def drop_cache(connection: AsyncConnection, agent_id: str) -> None:
    """`rootsInStep` of the agent is unknown until both sides were compared again."""
    for table in (objects, applications, instances):
        await connection.execute(delete(table).where(table.c.agent_id == agent_id))
    unknown = update(agents).where(agents.c.id == agent_id)
    await connection.execute(unknown.values(roots_in_step=None, roots_at=None, components=[]))
    await wish(connection, Wish(agent_id=agent_id, resync=True))
