"""What is true at the moment of a scrape: this replica's connections, and counts of the database.

The database is asked once a scrape, by three counts that have an index; where it is away, what it
would say is left out rather than told as it was.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import structlog
from prometheus_client import Gauge
from sqlalchemy import Select, func, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.pool import QueuePool

from bus.link import TaskPhase
from service.live.hooks.gather import DEAD, WAITING
from service.parts import Parts
from service.store.tables import agents, deliveries, tasks

log = structlog.get_logger()

_WITHIN = 3.0
_STATUSES = ("connected", "stale", "disconnected", "lost")
_PHASES = tuple(it.value for it in TaskPhase if not it.final)
_AGENTS = (
    select(agents.c.status, func.count())
    .where(agents.c.state == "enrolled")
    .group_by(agents.c.status)
)
_TASKS = (
    select(tasks.c.phase, func.count()).where(tasks.c.finished_at.is_(None)).group_by(tasks.c.phase)
)
_DELIVERIES = (
    select(deliveries.c.state, func.count())
    .where(deliveries.c.state.in_((WAITING, DEAD)))
    .group_by(deliveries.c.state)
)


async def look(parts: Parts) -> None:
    """Set the gauges of `parts.metrics`."""
    metrics, pool = parts.metrics, parts.engine.pool
    if isinstance(pool, QueuePool):
        metrics.pool_connections.set(pool.checkedout())
        metrics.pool_size.set(pool.size())
    metrics.links.set(parts.switchboard.links)
    metrics.streams.set(parts.hub.listeners)
    for gauge in (metrics.agents, metrics.open_tasks, metrics.deliveries):
        gauge.clear()
    try:
        async with asyncio.timeout(_WITHIN), parts.engine.connect() as connection:
            await _count(connection, metrics.agents, _AGENTS, _STATUSES)
            await _count(connection, metrics.open_tasks, _TASKS, _PHASES)
            await _count(connection, metrics.deliveries, _DELIVERIES, (WAITING, DEAD))
    except (SQLAlchemyError, OSError, TimeoutError) as e:
        log.warning("metrics without what the database knows", error=type(e).__name__)


async def _count(
    connection: AsyncConnection,
    gauge: Gauge,
    query: Select[Any],
    values: Iterable[str],
) -> None:
    """Values that no row has are zero, not missing."""
    found = {str(row[0]): int(row[1]) for row in await connection.execute(query)}
    for value in values:
        gauge.labels(value).set(found.get(value, 0))
