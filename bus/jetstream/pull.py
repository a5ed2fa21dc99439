"""Pull: a consumer's messages, handed to a callback for as long as there is room for them.

nats-py's `fetch` asks, waits and asks again; cancelled in between, the next message goes to nobody.
Here a request is always pending at the server and messages arrive as they come: an idle hop waits
for no poll, and a busy one pays for one request per batch. Status messages end requests, heartbeats
show that the consumer lives; when they stop, `silent` says so and the owner opens it again.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import msgspec
import nats.errors
import structlog
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from bus.jetstream.connection import Connection

log = structlog.get_logger()

_EXPIRES_SECONDS = 30.0
_HEARTBEAT_SECONDS = 2.0
_SILENT_SECONDS = 2.5 * _HEARTBEAT_SECONDS
_NANO = 1_000_000_000
_HEARTBEAT, _EXPIRED = "100", "408"
_DRAIN_SECONDS = 5.0


@dataclass(slots=True, kw_only=True)
class Pull:
    connection: Connection
    stream: str
    consumer: str
    limit: int
    """Messages asked for or handed over and not yet released, at most."""
    on_message: Callable[[Msg], Awaitable[None]]
    _subscription: Subscription | None = None
    _asked: int = 0
    _held: int = 0
    _heard: float = field(default_factory=time.monotonic)
    _broken: bool = False

    @property
    def silent(self) -> bool:
        """Something is asked for and not even a heartbeat came."""
        if not self.connection.is_connected or self._subscription is None:
            return False
        quiet = time.monotonic() - self._heard
        return self._broken or (self._asked > 0 and quiet > _SILENT_SECONDS)

    async def open(self) -> None:
        """Subscribe, or subscribe anew where the old subscription has fallen silent."""
        await self.close()
        client = self.connection.client
        self._subscription = await client.subscribe(client.new_inbox(), cb=self._on_message)
        await self.renew()

    async def renew(self) -> None:
        """Forget what was asked before, e.g. of a server that is gone, and ask again."""
        self._asked, self._broken, self._heard = 0, False, time.monotonic()
        await self._ask()

    async def release(self) -> None:
        """One message is done with: there is room for another."""
        self._held -= 1
        await self._ask()

    async def drain(self) -> None:
        """Take no more: the server sends nothing after this, and nothing it sent is dropped."""
        if not self.connection.is_connected:
            await self.close()  # there is nobody to wait for
            return
        subscription, self._subscription = self._subscription, None
        if subscription is None:
            return
        try:
            async with asyncio.timeout(_DRAIN_SECONDS):
                await subscription.drain()  # type: ignore[no-untyped-call]
        except (TimeoutError, nats.errors.Error) as error:
            log.warning(
                "inbox drained without the server", consumer=self.consumer, error=repr(error)
            )

    async def close(self) -> None:
        """Take no more, now; what the server has sent and we have not seen comes again later."""
        subscription, self._subscription = self._subscription, None
        if subscription is not None:
            with contextlib.suppress(nats.errors.Error):
                await subscription.unsubscribe()

    async def _ask(self) -> None:
        """Ask in batches: not before a good part of the room is free."""
        room = self.limit - self._held - self._asked
        if self._subscription is None or self._asked > self.limit // 2:
            return
        if room < max(1, self.limit // 4):
            return
        request = {
            "batch": room,
            "expires": int(_EXPIRES_SECONDS * _NANO),
            "idle_heartbeat": int(_HEARTBEAT_SECONDS * _NANO),
        }
        subject = f"$JS.API.CONSUMER.MSG.NEXT.{self.stream}.{self.consumer}"
        if not self._asked:
            self._heard = time.monotonic()
        self._asked += room
        try:
            await self.connection.client.publish(
                subject, msgspec.json.encode(request), reply=self._subscription.subject
            )
        except nats.errors.Error as error:
            log.warning("inbox cannot ask", consumer=self.consumer, error=repr(error))
            self._broken = True

    async def _on_message(self, message: Msg) -> None:
        self._heard = time.monotonic()
        status = (message.headers or {}).get("Status", "") if not message.data else ""
        if status:
            await self._on_status(status, message.headers or {})
            return
        self._asked -= 1
        self._held += 1
        await self.on_message(message)

    async def _on_status(self, status: str, headers: dict[str, str]) -> None:
        if status == _HEARTBEAT:
            return
        if status == _EXPIRED:
            unfilled = int(headers.get("Nats-Pending-Messages", self._asked))
            self._asked = max(0, self._asked - unfilled)
            await self._ask()
            return
        self._broken = True  # the consumer or its stream is gone, or its leader has changed
