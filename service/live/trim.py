"""The change feed is kept for a day: the record of what happened is `facts` and `audit`.

The newest row of each account stays, so that who comes back after a quiet week is told no gap.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta

import structlog
from sqlalchemy import delete, func, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.ext.asyncio import AsyncEngine

from service.store.tables import changes

log = structlog.get_logger()

KEPT = timedelta(days=1)
_EVERY = 600.0
_AT_ONCE = 10_000


async def trim(engine: AsyncEngine, now: datetime) -> int:
    """How many rows went; small statements, because a long one would hold back the writers."""
    gone = 0
    while True:
        last = select(func.max(changes.c.id)).group_by(changes.c.account_id)
        old = (
            select(changes.c.id)
            .where(changes.c.time < now - KEPT, changes.c.id.not_in(last))
            .limit(_AT_ONCE)
        )
        async with engine.begin() as connection:
            result = await connection.execute(delete(changes).where(changes.c.id.in_(old)))
        gone += result.rowcount
        if result.rowcount < _AT_ONCE:
            return gone


async def trimming(engine: AsyncEngine, clock: Callable[[], datetime]) -> None:
    """Until cancelled. Several replicas may do it at once."""
    while True:
        try:
            await trim(engine, clock())
        except (DBAPIError, PoolTimeoutError, OSError) as e:
            log.warning("the change feed cannot be trimmed, again later", error=type(e).__name__)
        await asyncio.sleep(_EVERY)
