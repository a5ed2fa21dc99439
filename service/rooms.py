"""Which rooms there are, and how they become one HTTP application with its workers.

A room with routes of its own, workers (names and coroutines that run as long as the service) or
middlewares offers them in its module `routes`; rows of the API's table stand in api/routes.py.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import Any

from aiohttp import web

from bus.http.body import prepare_bodies
from bus.http.forwarded import forwarded
from bus.http.limits import HttpLimits
from bus.http.refusals import prepare_refusals
from service.api import routes as api
from service.api.process import metrics_routes
from service.gateway import routes as gateway
from service.live import routes as live
from service.observe.requests import counted
from service.pages import routes as pages
from service.parts import Parts
from service.retention import routes as retention

BODY_LIMIT = 1 << 20


def application(parts: Parts) -> web.Application:
    believed = forwarded(parts.settings.trusted_proxies)
    wares = (believed, counted(parts.metrics), *api.middlewares(parts))
    app = web.Application(client_max_size=BODY_LIMIT, middlewares=wares)
    prepare_bodies(app, HttpLimits())
    prepare_refusals(app)
    app.on_shutdown.append(_leaving(parts))
    if parts.settings.is_https:
        app.on_response_prepare.append(_https_only)
    for routes in (gateway.routes, api.routes, pages.routes):
        app.router.add_routes(routes(parts))
    return app


def metrics_application(parts: Parts) -> web.Application:
    """Health and metrics, which are nobody's who comes from outside."""
    app = web.Application()
    app.router.add_routes(metrics_routes(parts))
    return app


def workers(parts: Parts) -> Iterator[tuple[str, Coroutine[Any, Any, None]]]:
    yield from api.workers(parts)
    yield from gateway.workers(parts)
    yield from live.workers(parts)
    yield from retention.workers(parts)


async def _https_only(_request: web.Request, response: web.StreamResponse) -> None:
    """RFC 6797: a browser that was here once asks over HTTPS for a year, whatever one types."""
    response.headers["Strict-Transport-Security"] = "max-age=31536000"


def _leaving(parts: Parts) -> Callable[[web.Application], Awaitable[None]]:
    async def leave(_: web.Application) -> None:
        parts.switchboard.leave()

    return leave
