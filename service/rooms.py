"""Which rooms there are, and how they become one HTTP application.

Each offers, in its module `routes`: `routes(parts)`; `workers(parts)` (names and coroutines that
run as long as the service) and `middlewares(parts)` where it has such; `follow(parts)`: what wants
to see each batch of the projection inside its transaction.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from aiohttp import web

from service.forwarded import forwarded
from service.parts import Parts

BODY_LIMIT = 1 << 20
_ROOMS = (
    "service.gateway",
    "service.api",
    "service.live",
    "service.history",
    "service.pages",
)


def application(parts: Parts) -> web.Application:
    believed = forwarded(parts.settings.trusted_proxies)
    wares = [believed, *(ware for room in _rooms("middlewares") for ware in room(parts))]
    app = web.Application(client_max_size=BODY_LIMIT, middlewares=wares)
    app.on_shutdown.append(_leaving(parts))
    for routes in _rooms("routes"):
        app.router.add_routes(routes(parts))
    return app


def workers(parts: Parts) -> Iterator[tuple[str, Coroutine[Any, Any, None]]]:
    for room in _rooms("workers"):
        yield from room(parts)


def _leaving(parts: Parts) -> Callable[[web.Application], Awaitable[None]]:
    async def leave(_: web.Application) -> None:
        parts.switchboard.leave()

    return leave


def _rooms(offer: str) -> Iterator[Any]:
    for room in _ROOMS:
        if find_spec(room) is None or find_spec(f"{room}.routes") is None:
            continue
        found = getattr(import_module(f"{room}.routes"), offer, None)
        if found is not None:
            yield found
