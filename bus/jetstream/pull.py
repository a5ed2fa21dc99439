"""Pull hands a consumer's messages to a callback, as many at once as its limit permits.

nats-py's `fetch` asks, waits and asks again; cancelled in between, the next message is lost. Pull
keeps a request pending at the server and messages arrive as they come: an idle hop waits for no
poll, and a busy one pays for one request per batch. Status messages end requests, heartbeats show
that the consumer lives; when they stop, `silent` is true and the owner opens the pull again.
`NatsDelivery` is one such message in the form that the dispatcher takes.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

import msgspec
import nats.errors
import structlog
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from bus.jetstream.connection import NatsConnection

_SHORT_REPLY = 9


@dataclass(frozen=True, slots=True)
class NatsDelivery:
    message: Msg
    sequence: int
    deliveries: int
    pending: int
    """How many messages the consumer had still to deliver after this one."""

    @classmethod
    def of(cls, message: Msg) -> NatsDelivery:
        """Read the numbers of a message from the subject that acknowledges it.

        `$JS.ACK.{stream}.{consumer}.{delivered}.{sequence}.{consumer's}.{time}.{pending}`, with two
        tokens of a domain before the stream in the longer form. nats-py's `metadata` reads the same
        and builds a datetime too, which is expensive on this path.
        """
        tokens = message.reply.split(".")
        first = 4 if len(tokens) == _SHORT_REPLY else 6
        delivered, sequence, _, _, pending = map(int, tokens[first : first + 5])
        return cls(message, sequence, delivered, pending)

    @property
    def subject(self) -> str:
        return self.message.subject

    @property
    def headers(self) -> Mapping[str, str]:
        return self.message.headers or {}

    @property
    def data(self) -> bytes:
        return self.message.data

    async def ack(self) -> None:
        with contextlib.suppress(nats.errors.Error):
            await self.message.ack()

    async def nak(self, delay: float) -> None:
        with contextlib.suppress(nats.errors.Error):
            await self.message.nak(delay)

    async def in_progress(self) -> None:
        with contextlib.suppress(nats.errors.Error):
            await self.message.in_progress()


log = structlog.get_logger()

_SILENT_AFTER = 2.5
"""Heartbeats that are missed before an inbox is opened again."""
_NANO = 1_000_000_000
_HEARTBEAT, _EXPIRED = "100", "408"
_DRAIN_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PullTimes:
    """Times in seconds: many pulls of one process, as those of shards, need rarer signs of life."""

    expires: float = 30.0
    heartbeat: float = 2.0
    look: float = 1.0
    """Between two looks whether the inbox has fallen silent."""


TIMES = PullTimes()
SHARD_TIMES = PullTimes(expires=60.0, heartbeat=20.0, look=10.0)


@dataclass(slots=True, kw_only=True)
class Pull:
    connection: NatsConnection
    stream: str
    consumer: str
    limit: int
    """Most messages that are requested, or handed over and not yet released."""
    on_message: Callable[[Msg], Awaitable[None]]
    times: PullTimes = TIMES
    _subscription: Subscription | None = None
    _requested: int = 0
    _held: int = 0
    _heard: float = field(default_factory=time.monotonic)
    _broken: bool = False

    @property
    def silent(self) -> bool:
        """Whether messages are requested and not even a heartbeat comes."""
        if not self.connection.is_connected or self._subscription is None:
            return False
        quiet = time.monotonic() - self._heard
        return self._broken or (
            self._requested > 0 and quiet > _SILENT_AFTER * self.times.heartbeat
        )

    async def open(self) -> None:
        """Subscribe, or subscribe anew where the old subscription has fallen silent."""
        await self.close()
        client = self.connection.client
        self._subscription = await client.subscribe(client.new_inbox(), cb=self._on_message)
        await self.renew()

    async def renew(self) -> None:
        """Forget earlier requests, e.g. those to a server that is gone, and ask again."""
        self._requested, self._broken, self._heard = 0, False, time.monotonic()
        await self._request()

    async def release(self) -> None:
        """Return the credit of one message, so that another can be requested."""
        self._held -= 1
        await self._request()

    async def drain(self) -> None:
        """Take no more: the server sends nothing after this, and nothing it sent is dropped."""
        if not self.connection.is_connected:
            await self.close()  # no server to wait for
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
        """Take no more, at once; messages that are still on their way are delivered again later."""
        subscription, self._subscription = self._subscription, None
        if subscription is not None:
            with contextlib.suppress(nats.errors.Error):
                await subscription.unsubscribe()

    async def _request(self) -> None:
        """Request a batch of messages, once a quarter of the limit is free."""
        free = self.limit - self._held - self._requested
        if self._subscription is None or self._requested > self.limit // 2:
            return
        if free < max(1, self.limit // 4):
            return
        request = {
            "batch": free,
            "expires": int(self.times.expires * _NANO),
            "idle_heartbeat": int(self.times.heartbeat * _NANO),
        }
        subject = f"$JS.API.CONSUMER.MSG.NEXT.{self.stream}.{self.consumer}"
        if not self._requested:
            self._heard = time.monotonic()
        self._requested += free
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
        self._requested -= 1
        self._held += 1
        await self.on_message(message)

    async def _on_status(self, status: str, headers: dict[str, str]) -> None:
        if status == _HEARTBEAT:
            return
        if status == _EXPIRED:
            # The request ended with this many messages never sent; they are requested again.
            unfilled = int(headers.get("Nats-Pending-Messages", self._requested))
            self._requested = max(0, self._requested - unfilled)
            await self._request()
            return
        self._broken = True  # the consumer or its stream is gone, or its leader has changed
