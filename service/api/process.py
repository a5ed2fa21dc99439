"""Of the process itself: alive, ready, measured. Outside of /api/v1, for machines.

`/healthz` is public, for load balancers: it asks nobody and says nothing. Readiness, which asks the
database, and metrics are on a port of their own, which the outside does not reach.
"""

from __future__ import annotations

import asyncio

import msgspec
from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine

from service.observe.state import look
from service.parts import Parts

_WITHIN = 3.0


def process_routes() -> list[web.RouteDef]:
    """The public one."""
    return [web.get("/healthz", _alive)]


def metrics_routes(parts: Parts) -> list[web.RouteDef]:
    async def ready(_request: web.Request) -> web.Response:
        answers = await _answers(parts.engine)
        body = {"ready": answers, "database": "answers" if answers else "away"}
        return web.Response(
            status=200 if answers else 503,
            body=msgspec.json.encode(body),
            content_type="application/json",
        )

    async def measured(_request: web.Request) -> web.Response:
        await look(parts)
        body = generate_latest(parts.registry)
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
