"""FactSubscription reads the facts of one agent from a time on, with read rights only.

It reads by sequence, and a plain NATS subscription signals that new facts can be read. The last
sequence that was read is the only state: after a lost connection reading continues behind it, so
no fact is missed and none comes twice. The plain message itself is not handed over, because it has
no sequence and may come before the stream has stored it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime

import nats.errors
import structlog
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from bus.envelope import DecodeError, Envelope, decode
from bus.events import Event
from bus.jetstream.connection import NatsConnection
from bus.jetstream.direct_reads import DirectReadError, read_direct, read_newest, sequence_of
from bus.jetstream.fact_reader import FactsError

log = structlog.get_logger()

_BATCH = 256
_SOON, _LATER = 0.01, 1.0
"""Seconds until the next read: soon after a signal, as the fact may not be stored yet."""


@dataclass(slots=True, kw_only=True)
class FactSubscription:
    """`async for envelope, fact in subscription`; facts of an unknown type are left out."""

    connection: NatsConnection
    stream: str
    subject: str
    since: datetime | None
    """None: only what happens from now on."""
    follow: bool
    _after: int = 0
    _ahead: deque[Msg] = field(default_factory=deque)
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    _patience: float = _SOON
    _subscription: Subscription | None = None
    _over: bool = False

    def __aiter__(self) -> FactSubscription:
        return self

    async def __anext__(self) -> tuple[Envelope, Event]:
        while True:
            while self._ahead:
                message = self._ahead.popleft()
                try:
                    return decode(message.headers, message.data)
                except DecodeError as error:
                    log.debug("fact left out", subject=message.subject, reason=str(error))
            if self._over:
                raise StopAsyncIteration
            await self._look()

    async def open(self) -> None:
        """Raises FactsError."""
        client = self.connection.client
        try:
            if self.follow:
                self._subscription = await client.subscribe(self.subject, cb=self._on_news)
            if self.since is None:
                self._after = await self._newest()
        except (nats.errors.Error, DirectReadError) as error:
            raise FactsError(f"facts of {self.stream} cannot be read: {error!r}") from error

    async def close(self) -> None:
        subscription, self._subscription = self._subscription, None
        if subscription is not None:
            with suppress(nats.errors.Error):
                await subscription.unsubscribe()

    async def _newest(self) -> int:
        """Return the sequence of the newest retained fact; 0 for none."""
        found = await read_newest(self.connection, self.stream, self.subject)
        return sequence_of(found) if found else 0

    async def _look(self) -> None:
        """Read the next facts; where there are none, stop or wait for a signal."""
        self._news.clear()  # before reading: a signal during the read must lead to another read
        try:
            found = await read_direct(self.connection, self.stream, self._request(), limit=_BATCH)
        except DirectReadError as error:
            if not self.follow:
                raise FactsError(str(error)) from error
            log.warning("facts cannot be read yet", reason=str(error))
            found = ()
        if found:
            self._ahead.extend(found)
            self._after = sequence_of(found[-1])
            self._patience = _SOON
        elif self.follow:
            await self._wait()
        else:
            self._over = True

    def _request(self) -> dict[str, object]:
        if self._after or self.since is None:
            return {"next_by_subj": self.subject, "seq": self._after + 1}
        return {"next_by_subj": self.subject, "start_time": self.since.isoformat()}

    async def _wait(self) -> None:
        try:
            async with asyncio.timeout(self._patience):
                await self._news.wait()
        except TimeoutError:
            self._patience = min(2 * self._patience, _LATER)
        else:
            self._patience = _SOON

    async def _on_news(self, _message: Msg) -> None:
        self._news.set()


@asynccontextmanager
async def subscribed(subscription: FactSubscription) -> AsyncIterator[FactSubscription]:
    try:
        await subscription.open()
        yield subscription
    finally:
        await subscription.close()
