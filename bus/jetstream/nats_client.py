"""NatsClient is the client of nats-py with three repairs.

Its calls never swallow a cancellation. `asyncio.wait_for` of Python 3.11, on which nats-py builds,
returns the result where a cancellation and the result come in the same turn of the loop: one in
twelve cancelled requests continued as if it had not been cancelled, and a loop around such a call
then ran for ever. The task still counts the cancellation, so it is raised here. Python 3.12 needs
no such repair. A call that loops inside nats-py, as the first connection does, is cancelled until
it ends (`ended_within`).

Its login is never sent in clear text where TLS is configured. nats-py leaves TLS out if the
server's greeting does not ask for it, and whoever stands in between can write that greeting.

Its end does not wait for a handshake that has failed. asyncio takes the socket away from the plain
stream when TLS begins, so nobody ever tells that stream that its connection was closed; nats-py
waits for that when a handshake fails or is cut off, and would for ever.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Coroutine
from typing import Any, TypeVar
from urllib.parse import ParseResult

import nats.errors
from nats.aio.client import Client, Srv
from nats.aio.msg import Msg
from nats.aio.transport import TcpTransport

T = TypeVar("T")
_AGAIN = 0.1
"""Seconds until a call that goes on is cancelled once more."""


async def cancel_safe(call: Awaitable[T]) -> T:
    """Return the result of the call, unless this task was cancelled in the meantime."""
    task = asyncio.current_task()
    before = task.cancelling() if task else 0
    result = await call
    if task and task.cancelling() > before:
        raise asyncio.CancelledError
    return result


async def ended_within(call: Coroutine[Any, Any, T], seconds: float) -> T:
    """Return the result of the call; TimeoutError after `seconds`, when it has ended.

    The call may swallow a cancellation, as nats-py does between two tries to connect, so it is
    cancelled until it ends.
    """
    task = asyncio.create_task(call)  # noqa: TID251  it has ended when this function has
    try:
        if not (await asyncio.wait({task}, timeout=seconds))[0]:
            raise TimeoutError
        return task.result()
    finally:
        while not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=_AGAIN)
        if not task.cancelled():
            task.exception()


class NoTlsError(nats.errors.Error):
    """The server does not speak TLS, and is told nothing for that reason."""


class _Transport(TcpTransport):
    """A connection whose end is not waited for once a handshake has failed."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._is_aborted = False

    def __bool__(self) -> bool:
        """Be there before it is connected too: nats-py would make another one."""
        return True

    async def connect(self, uri: ParseResult, buffer_size: int, connect_timeout: int) -> None:
        await super().connect(uri, buffer_size, connect_timeout)
        self._is_aborted = False

    async def connect_tls(
        self,
        uri: str | ParseResult,
        ssl_context: ssl.SSLContext,
        buffer_size: int,
        connect_timeout: int,
    ) -> None:
        try:
            await super().connect_tls(uri, ssl_context, buffer_size, connect_timeout)
        except BaseException:
            self.abort()
            raise

    async def wait_closed(self) -> None:
        if not self._is_aborted:
            await super().wait_closed()  # type: ignore[no-untyped-call]

    def abort(self) -> None:
        """Close the socket at once; what was not sent is lost."""
        self._is_aborted = True
        if self._io_writer is not None:
            self._io_writer.transport.abort()


class NatsClient(Client):
    def abort(self) -> None:
        """Close the socket at once, where a close lasts too long."""
        if isinstance(self._transport, _Transport):
            self._transport.abort()

    async def _connect_to_server(self, s: Srv) -> None:
        if self._transport is None and s.uri.scheme not in ("ws", "wss"):
            self._transport = _Transport()
        await super()._connect_to_server(s)

    async def request(self, *words: Any, **named: Any) -> Msg:
        """Everything of JetStream (publish, streams, buckets) goes through here."""
        return await cancel_safe(super().request(*words, **named))

    def _connect_command(self) -> bytes:
        """Make the login; nats-py asks for it last, when TLS is open or was left out."""
        server = self._current_server
        scheme = server.uri.scheme if server is not None else ""
        wants_tls = scheme == "tls" or (scheme == "nats" and "tls" in self.options)
        if wants_tls and not self._server_info.get("tls_required"):
            raise NoTlsError(
                "the server offers no TLS, and the settings ask for it: switch TLS on at the "
                "server, or use a nats:// URL without GITOPS_NATS_TLS_CA"
            )
        return bytes(super()._connect_command())
