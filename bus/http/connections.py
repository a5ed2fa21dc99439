"""Connections of an HTTP server, each with a deadline for what it does and a place in a budget.

aiohttp bounds neither the number of connections nor the time for a head, so a thin protocol stands
in front of its own:

    asyncio transport  ->  Connection (counts, clocks)  ->  aiohttp's RequestHandler

A connection waits for a head, or a request of it is at work. It has one clock, set anew with each
change: `head_seconds` from the connection, or from the first byte of a later head;
`request_seconds` from head to answer; `idle_seconds` from an answer to the next first byte. Who is
late is cut off.

A full house does not turn the next one away: the connection that has waited longest without a whole
head makes room, first among those of the same address. So half-sent heads displace each other, and
who sends a whole head at once is served. Only where all are at work is the new one refused.

A request whose sender has proven who it is (`vouch`) has no deadline and does not count for its
address: streams and links are long, and many may come from behind one address.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from aiohttp import web
from aiohttp.typedefs import Handler

from bus.http.budget import holder_of
from bus.http.forwarded import Network, is_trusted
from bus.http.limits import HttpLimits

_LINGER_NOT = struct.pack("ii", 1, 0)


@dataclass(slots=True)
class _Address:
    """The connections of one address that nobody vouches for."""

    count: int = 0
    waiting: dict[Connection, None] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class Connections:
    """The connections of one server. Mappings to None are sets that keep their order."""

    limits: HttpLimits
    trusted: Sequence[Network] = ()
    """Proxies: many callers come through one, so theirs do not count for an address."""
    refused: int = 0
    displaced: int = 0
    late: int = 0
    _open: set[Connection] = field(default_factory=set)
    _waiting: dict[Connection, None] = field(default_factory=dict)
    _addresses: dict[str, _Address] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._open)

    def admit(self, connection: Connection) -> bool:
        """Take the connection in, at the cost of one that only waits where there is no room."""
        address = self._addresses.get(connection.holder)
        if address is not None and address.count >= self.limits.connections_of_address:
            room = self._displace(address.waiting)
        elif len(self._open) >= self.limits.connections:
            room = self._displace(self._waiting)
        else:
            room = True
        if not room:
            self.refused += 1
            return False
        self._open.add(connection)
        self.count(connection)
        self.wait(connection)
        return True

    def leave(self, connection: Connection) -> None:
        """Forget the connection; a second time does nothing."""
        self.work(connection)
        self.uncount(connection)
        self._open.discard(connection)

    def wait(self, connection: Connection) -> None:
        """The connection waits for a head: from now on it may have to make room."""
        self._waiting[connection] = None
        if connection.counted:
            self._addresses[connection.holder].waiting[connection] = None

    def work(self, connection: Connection) -> None:
        """A request of the connection is at work: it keeps its place."""
        self._waiting.pop(connection, None)
        if connection.counted:
            self._addresses[connection.holder].waiting.pop(connection, None)

    def count(self, connection: Connection) -> None:
        """Count the connection for its address."""
        if connection.holder and not connection.counted:
            self._addresses.setdefault(connection.holder, _Address()).count += 1
            connection.counted = True

    def uncount(self, connection: Connection) -> None:
        if not connection.counted:
            return
        connection.counted = False
        address = self._addresses[connection.holder]
        address.count -= 1
        if not address.count:
            del self._addresses[connection.holder]

    def holder(self, peer: str) -> str:
        """Whom a connection of this peer counts for; empty for a trusted proxy."""
        return "" if is_trusted(peer, self.trusted) else holder_of(peer)

    def _displace(self, waiting: dict[Connection, None]) -> bool:
        oldest = next(iter(waiting), None)
        if oldest is None:
            return False
        self.displaced += 1
        oldest.cut()
        return True


class Connection(asyncio.Protocol):
    """One connection; what it does not bound itself it hands to aiohttp's protocol."""

    def __init__(self, server: Callable[[], asyncio.Protocol], connections: Connections) -> None:
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


def _connection(request: web.Request) -> Connection | None:
    protocol = request.transport.get_protocol() if request.transport is not None else None
    return protocol if isinstance(protocol, Connection) else None
