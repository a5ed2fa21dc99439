"""Routes of the process itself: health, readiness and metrics, for machines.

`/healthz` is public, for load balancers: it asks nobody and says nothing. Readiness, which asks the
database, and metrics are on a port of their own that only the cluster reaches.

Some gauges are set at each scrape: this replica's connections, and three counts of the database,
each by an index. While the database is away, its gauges are left out rather than reported as they
were.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import msgspec
import structlog
from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, Gauge, generate_latest
from sqlalchemy import Select, func, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
from sqlalchemy.pool import QueuePool

from bus.link import TaskPhase
from service.live.listener_hub import ListenerHub
from service.live.webhook_deliveries import DEAD, WAITING
from service.observe.metrics import ServiceMetrics
from service.store.link_signals import LinkRegistry
from service.store.tables import agents, deliveries, tasks

log = structlog.get_logger()

_WITHIN = 3.0


def process_routes() -> list[web.RouteDef]:
    """Make the public route, which asks nobody."""
    return [web.get("/healthz", _alive)]


def metrics_routes(gauges: ScrapedGauges) -> list[web.RouteDef]:
    """Make the routes of health, readiness and metrics."""

    async def ready(_request: web.Request) -> web.Response:
        answers = await _answers(gauges.engine)
        body = {"ready": answers, "database": "answers" if answers else "away"}
        return web.Response(
            status=200 if answers else 503,
            body=msgspec.json.encode(body),
            content_type="application/json",
        )

    async def measured(_request: web.Request) -> web.Response:
        await gauges.update()
        body = generate_latest(gauges.metrics.registry)
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE_LATEST})

    return [
        web.get("/healthz", _alive),
        web.get("/readyz", ready),
        web.get("/metrics", measured),
    ]


async def _alive(_request: web.Request) -> web.Response:
    return web.Response(text="alive\n")


async def _answers(engine: AsyncEngine) -> bool:
    try:
        async with asyncio.timeout(_WITHIN), engine.connect() as connection:
            await connection.execute(select(1))
    except (SQLAlchemyError, OSError, TimeoutError):
        return False
    return True


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ScrapedGauges:
    metrics: ServiceMetrics
    engine: AsyncEngine
    link_registry: LinkRegistry
    hub: ListenerHub

    async def update(self) -> None:
        """Set the gauges of connections, agents, open tasks and deliveries to what is true now."""
        metrics, pool = self.metrics, self.engine.pool
        if isinstance(pool, QueuePool):
            metrics.pool_connections.set(pool.checkedout())
            metrics.pool_size.set(pool.size())
        metrics.links.set(self.link_registry.links)
        metrics.streams.set(self.hub.listeners)
        for gauge in (metrics.agents, metrics.open_tasks, metrics.deliveries):
            gauge.clear()
        try:
            async with asyncio.timeout(_WITHIN), self.engine.connect() as connection:
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
