"""FactSubscription: the facts of one agent from a moment on, for whoever may only read.

It reads by sequence, and a plain subscription tells it that there is something new to read. The
last sequence that was read is all it has to remember: after a lost connection it goes on behind
that one, so nothing is missed and nothing comes twice. The plain message itself is not handed over,
because it bears no sequence and may come before the stream has stored it.
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

from bus.codec import DecodeError, decode
from bus.envelope import Envelope
from bus.events import Event
from bus.jetstream.connection import Connection
from bus.jetstream.direct import DirectReadError, read_direct, sequence_of
from bus.jetstream.subscribe import FactsError

log = structlog.get_logger()

_BATCH = 256
_SOON, _LATER = 0.01, 1.0
"""Seconds until the next look: soon after news, which may not be stored yet; then ever later."""


@dataclass(slots=True, kw_only=True)
class FactSubscription:
    """`async for envelope, fact in subscription`; facts of an unknown type are left out."""

    connection: Connection
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
                info = await self.connection.jetstream.stream_info(self.stream)
                self._after = info.state.last_seq
        except nats.errors.Error as error:
            raise FactsError(f"facts of {self.stream} cannot be read: {error!r}") from error

    async def close(self) -> None:
        subscription, self._subscription = self._subscription, None
        if subscription is not None:
            with suppress(nats.errors.Error):
                await subscription.unsubscribe()

    async def _look(self) -> None:
        """Read on; where there is nothing more, stop or wait for news."""
        self._news.clear()
        try:
            found = await read_direct(self.connection, self.stream, self._request(), limit=_BATCH)
        except DirectReadError as error:
            if not self.follow:
                raise FactsError(str(error)) from error
            log.warning("facts not back yet", reason=str(error))
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
