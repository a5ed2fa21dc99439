"""One connection of an HTTP server, with a deadline for what it does.

aiohttp bounds neither the number of connections nor the time for a head, so a thin protocol stands
in front of its own:

    asyncio transport  ->  Connection (counts, clocks)  ->  aiohttp's RequestHandler

A connection waits for a head, or a request of it is at work. It has one clock, set anew with each
change: `head_seconds` from the connection, or from the first byte of a later head;
`request_seconds` from head to answer; `idle_seconds` from an answer to the next first byte. Who is
late is cut off.

A request whose sender has proven who it is (`vouch`) has no deadline and does not count for its
address: streams and links are long, and many may come from behind one address.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import weakref
from collections.abc import Callable
from typing import Any, cast

from aiohttp import web
from aiohttp.typedefs import Handler

from bus.http.connections import HttpConnections

_LINGER_NOT = struct.pack("ii", 1, 0)


class HttpConnection(asyncio.Protocol):
    """One connection; what it does not bound itself it hands to aiohttp's protocol."""

    def __init__(
        self, server: Callable[[], asyncio.Protocol], connections: HttpConnections
    ) -> None:
        self.holder = ""
        self.counted = False
        self._server = server
        self._connections = connections
        self._inner: asyncio.Protocol | None = None
        self._transport: asyncio.Transport | None = None
        self._clock: asyncio.TimerHandle | None = None
        self._request: weakref.ref[asyncio.Task[Any]] | None = None
        self._idle = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        peer = transport.get_extra_info("peername")
        self.holder = self._connections.holder(peer[0] if isinstance(peer, tuple) else "")
        if not self._connections.admit(self):
            self._transport.abort()
            return
        self._inner = self._server()
        self._inner.connection_made(transport)
        self._set_clock(self._connections.limits.head_seconds)

    def data_received(self, data: bytes) -> None:
        if self._idle:
            self._idle = False
            self._set_clock(self._connections.limits.head_seconds)
        if self._inner is not None:
            self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        return self._inner.eof_received() if self._inner is not None else None

    def pause_writing(self) -> None:
        if self._inner is not None:
            self._inner.pause_writing()

    def resume_writing(self) -> None:
        if self._inner is not None:
            self._inner.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_clock()
        self._connections.leave(self)
        inner, self._inner, self._request = self._inner, None, None
        if inner is not None:
            inner.connection_lost(exc)

    def begin(self, request: asyncio.Task[Any] | None) -> None:
        """A whole head is here: its request has its own deadline.

        The task is not kept alive: it holds the answer as long as it lives.
        """
        self._idle, self._request = False, weakref.ref(request) if request is not None else None
        self._connections.work(self)
        self._set_clock(self._connections.limits.request_seconds)

    def vouch(self) -> None:
        """The sender has proven who it is: this request may last, and counts for no address."""
        self._stop_clock()
        self._connections.uncount(self)

    def end(self) -> None:
        """The request has its answer; what is still unsent of it has to go within the idle time."""
        if self._inner is None:
            return
        self._idle = True
        self._connections.count(self)
        self._connections.wait(self)
        self._set_clock(self._connections.limits.idle_seconds)

    def cut(self) -> None:
        """End the connection now, with its request.

        The request's task is cancelled too: a file that is being sent by the kernel would wait for
        ever for a socket that is closed.
        """
        self._stop_clock()
        self._connections.leave(self)
        request = self._request() if self._request is not None else None
        if request is not None:
            request.cancel()
        if self._transport is not None:
            _forget_unsent(self._transport)
            self._transport.abort()

    def _late(self) -> None:
        self._connections.late += 1
        self.cut()

    def _set_clock(self, seconds: float) -> None:
        self._stop_clock()
        self._clock = asyncio.get_running_loop().call_later(seconds, self._late)

    def _stop_clock(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None


def _forget_unsent(transport: asyncio.Transport) -> None:
    """Let the kernel, too, drop what the other end does not read, instead of offering it on."""
    connected = transport.get_extra_info("socket")
    if connected is not None:
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NOT)


@web.middleware
async def clocked(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Tell the connection when its request begins and ends; the outermost middleware."""
    connection = _connection(request)
    if connection is None:
        return await handler(request)
    connection.begin(asyncio.current_task())
    try:
        return await handler(request)
    finally:
        connection.end()


def vouch(request: web.Request) -> None:
    """Say that the request's sender has proven who it is."""
    connection = _connection(request)
    if connection is not None:
        connection.vouch()


def _connection(request: web.Request) -> HttpConnection | None:
    protocol = request.transport.get_protocol() if request.transport is not None else None
    return protocol if isinstance(protocol, HttpConnection) else None
