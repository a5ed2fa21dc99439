"""What time alone brings about: tasks that nobody answered, agents that are silent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime

import structlog
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine

from service.gateway.offering import end_unanswered
from service.gateway.silence import tell_silence

log = structlog.get_logger()

_EVERY = 5.0


async def sweeping(engine: AsyncEngine, clock: Callable[[], datetime]) -> None:
    """Until cancelled. Replicas may do it at the same time: rows are locked one by one."""
    while True:
        try:
            await sweep(engine, clock())
        except (SQLAlchemyError, OSError, TimeoutError) as e:
            log.warning("sweep failed, tried again soon", error=type(e).__name__)
        await asyncio.sleep(_EVERY)


async def sweep(engine: AsyncEngine, now: datetime) -> None:
    async with engine.begin() as connection:
        ended = await end_unanswered(connection, now)
    await tell_silence(engine, now)
    if ended:
        log.info("tasks ended without an answer", count=ended)
