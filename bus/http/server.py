"""`serving` runs an aiohttp application within limits.

aiohttp's own means are used where it has them: the time it drains an unread body, and its limits of
heads (8 KiB a line, 128 fields). What it does not bound is in `connection`, `connections` and
`body`. Answers do not say which server and version made them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import structlog
from aiohttp import StreamReader, hdrs, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_parser import RawRequestMessage
from aiohttp.web_protocol import ERROR, RequestHandler
from prometheus_client import CollectorRegistry

from bus.http.body import BODIES, prepare_bodies
from bus.http.budget import HttpLimits, affordable, open_files
from bus.http.connection import HttpConnection, clocked
from bus.http.connections import HttpCollector, HttpConnections, measured
from bus.http.forwarded import Network
from bus.http.refusals import REFUSALS, prepare_refusals

log = structlog.get_logger()

_END_SECONDS = 5.0
_DRAIN_SECONDS = 1.0
"""For an unread body: long enough for the sender to see the answer before the end."""
_BACKLOG = 1024


@asynccontextmanager
async def serving(
    app: web.Application,
    host: str,
    port: int,
    *,
    limits: HttpLimits | None = None,
    trusted: Sequence[Network] = (),
    registry: CollectorRegistry | None = None,
) -> AsyncIterator[int]:
    """The port that is listened to as long as the block lasts (a free one for 0).

    `registry`: where to show what was refused and cut off.
    """
    limits = _affordable(limits or HttpLimits())
    if BODIES not in app:
        prepare_bodies(app, limits)
    if REFUSALS not in app:
        prepare_refusals(app)
    app.middlewares.insert(0, clocked)
    app.on_response_prepare.append(_without_server)
    connections = HttpConnections(limits=limits, trusted=trusted)
    collector = HttpCollector(connections=connections, refusals=app[REFUSALS].refusals)
    async with _handlers(app, limits) as handlers:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(
            lambda: HttpConnection(handlers, connections), host, port, backlog=_BACKLOG
        )
        try:
            with measured(registry, collector):
                yield int(server.sockets[0].getsockname()[1])
        finally:
            server.close()


@asynccontextmanager
async def _handlers(app: web.Application, limits: HttpLimits) -> AsyncIterator[web.Server]:
    """Make aiohttp's protocols, and end their connections with the block."""
    runner = web.AppRunner(
        app,
        access_log=None,
        shutdown_timeout=_END_SECONDS,
        keepalive_timeout=2 * limits.idle_seconds,  # ours ends first, and knows about heads
        lingering_time=_DRAIN_SECONDS,
    )
    await runner.setup()
    try:
        if runner.server is None:
            raise RuntimeError("the runner has no server after its setup")
        _hide_server(runner.server)
        yield runner.server
    finally:
        await runner.cleanup()


def _affordable(limits: HttpLimits) -> HttpLimits:
    files = open_files()
    found = affordable(limits, files)
    if found.connections < limits.connections:
        log.warning(
            "fewer connections than configured: the limit of open files is low",
            connections=found.connections,
            configured=limits.connections,
            open_files=files,
        )
    return found


async def _without_server(_request: web.BaseRequest, response: web.StreamResponse) -> None:
    response.headers.pop(hdrs.SERVER, None)


class _Unreadable(web.BaseRequest):
    """What could not be parsed: it has no application, so no signal goes before its answer."""

    async def _prepare_hook(self, response: web.StreamResponse) -> None:
        await _without_server(self, response)


def _hide_server(server: web.Server) -> None:
    """Let the answers to what is no HTTP, too, say nothing of the server."""
    make = server.request_factory
    loop = asyncio.get_running_loop()

    def request(
        message: RawRequestMessage,
        payload: StreamReader,
        protocol: RequestHandler,
        writer: AbstractStreamWriter,
        task: asyncio.Task[None],
    ) -> web.BaseRequest:
        if message is ERROR:
            return _Unreadable(message, payload, protocol, writer, task, loop)
        return make(message, payload, protocol, writer, task)

    server.request_factory = request
