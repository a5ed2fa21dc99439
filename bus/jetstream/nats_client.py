"""NatsClient is the client of nats-py with two repairs.

Its calls never swallow a cancellation. `asyncio.wait_for` of Python 3.11, on which nats-py builds,
returns the result where a cancellation and the result come in the same turn of the loop: one in
twelve cancelled requests continued as if it had not been cancelled, and a loop around such a call
then ran for ever. The task still counts the cancellation, so it is raised here. Python 3.12 needs
no such repair.

Its login is never sent in clear text where TLS is configured. nats-py leaves TLS out if the
server's greeting does not ask for it, and whoever stands in between can write that greeting.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar

import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg

T = TypeVar("T")


async def cancel_safe(call: Awaitable[T]) -> T:
    """Return the result of the call, unless this task was cancelled in the meantime."""
    task = asyncio.current_task()
    before = task.cancelling() if task else 0
    result = await call
    if task and task.cancelling() > before:
        raise asyncio.CancelledError
    return result


class NoTlsError(nats.errors.Error):
    """The server does not speak TLS, and is told nothing for that reason."""


class NatsClient(Client):
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
