"""Signals between replicas: LISTEN and NOTIFY on one connection of their own.

A signal is a hint to read the database, never the data itself: a replica that was not connected
misses it, and gets "" (read again) as soon as it listens again, and once at the beginning. Sending
is part of a transaction: `pg_notify` arrives after the commit.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import asyncpg
import structlog
from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from service.store.database import CONNECT_SECONDS, plain_url

log = structlog.get_logger()

_AGAIN_AFTER = 1.0
_PROBE_EVERY = 5.0
SignalReceiver = Callable[[str], None]
"""Takes the payload, at once: it sets an event or fills a queue. An empty one means "look"."""


async def send(connection: AsyncConnection, channel: str, payload: str) -> None:
    """Send at most 8000 bytes, which arrive everywhere when the transaction commits."""
    await connection.execute(select(func.pg_notify(channel, payload)))


@dataclass(slots=True, kw_only=True)
class Signals:
    """`run` holds the connection; `subscribed` subscribes, before or after it is there."""

    url: str
    listening: asyncio.Event = field(default_factory=asyncio.Event)
    _subscribers: defaultdict[str, list[SignalReceiver]] = field(
        default_factory=lambda: defaultdict(list)
    )
    _active: set[str] = field(default_factory=set)
    """Channels that the server tells us about now."""
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    @contextmanager
    def subscribed(self, channel: str, receive: SignalReceiver) -> Iterator[None]:
        """`receive` is called for each signal; and with "" from when on none is missed."""
        receivers = self._subscribers[channel]
        receivers.append(receive)
        self._changed.set()
        if channel in self._active:
            receive("")
        try:
            yield
        finally:
            receivers.remove(receive)
            if not receivers:
                del self._subscribers[channel]
            self._changed.set()

    async def run(self) -> None:
        """Listen until cancelled; a lost connection is made again."""
        while True:
            try:
                await self._listen()
            except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError) as e:
                log.warning("signals lost, listening again soon", error=type(e).__name__)
            self.listening.clear()
            self._active.clear()
            await asyncio.sleep(_AGAIN_AFTER)

    async def _listen(self) -> None:
        connection = await asyncpg.connect(
            plain_url(self.url), timeout=CONNECT_SECONDS, command_timeout=CONNECT_SECONDS
        )
        try:
            await self._follow(connection)
            self.listening.set()
            while not connection.is_closed():
                await self._until_changed()
                await self._follow(connection)
                await connection.execute("SELECT 1")
        finally:
            connection.terminate()

    async def _follow(self, connection: Any) -> None:
        """Make what the server tells us equal to what somebody wants to hear."""
        self._changed.clear()
        subscribed_channels = set(self._subscribers)
        for channel in self._active - subscribed_channels:
            self._active.discard(channel)
            await connection.remove_listener(channel, self._received)
        for channel in subscribed_channels - self._active:
            await connection.add_listener(channel, self._received)
            self._active.add(channel)
            self._deliver(channel, "")

    async def _until_changed(self) -> None:
        try:
            async with asyncio.timeout(_PROBE_EVERY):
                await self._changed.wait()
        except TimeoutError:
            return

    def _received(self, _connection: object, _pid: int, channel: str, payload: object) -> None:
        self._deliver(channel, str(payload))

    def _deliver(self, channel: str, payload: str) -> None:
        for receive in tuple(self._subscribers.get(channel, ())):
            receive(payload)
