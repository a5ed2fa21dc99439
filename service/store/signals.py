"""Signals between replicas: LISTEN and NOTIFY on one connection of their own.

A signal is a hint that something in the database is worth a look, never the thing itself: who was
not connected misses it, and is told "" (look) as soon as the server tells us things again, and once
at the beginning. Sending is part of a transaction: `pg_notify` arrives after the commit.
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
Hear = Callable[[str], None]
"""Takes the payload, at once: it sets an event or fills a queue. An empty one means "look"."""


async def send(connection: AsyncConnection, channel: str, payload: str) -> None:
    """At most 8000 bytes; arrives everywhere when the transaction commits."""
    await connection.execute(select(func.pg_notify(channel, payload)))


@dataclass(slots=True, kw_only=True)
class Signals:
    """`run` holds the connection; `hearing` subscribes, before or after it is there."""

    url: str
    listening: asyncio.Event = field(default_factory=asyncio.Event)
    _ears: defaultdict[str, list[Hear]] = field(default_factory=lambda: defaultdict(list))
    _active: set[str] = field(default_factory=set)
    """Channels that the server tells us about now."""
    _wanted: asyncio.Event = field(default_factory=asyncio.Event)

    @contextmanager
    def hearing(self, channel: str, hear: Hear) -> Iterator[None]:
        """`hear` is called for each signal; and with "" from when on none is missed."""
        ears = self._ears[channel]
        ears.append(hear)
        self._wanted.set()
        if channel in self._active:
            hear("")
        try:
            yield
        finally:
            ears.remove(hear)
            if not ears:
                del self._ears[channel]
            self._wanted.set()

    async def run(self) -> None:
        """Until cancelled; a lost connection is made again."""
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
                await self._until_wanted()
                await self._follow(connection)
                await connection.execute("SELECT 1")
        finally:
            connection.terminate()

    async def _follow(self, connection: Any) -> None:
        """Make what the server tells us equal to what somebody wants to hear."""
        self._wanted.clear()
        wanted = set(self._ears)
        for channel in self._active - wanted:
            self._active.discard(channel)
            await connection.remove_listener(channel, self._hear)
        for channel in wanted - self._active:
            await connection.add_listener(channel, self._hear)
            self._active.add(channel)
            self._tell(channel, "")

    async def _until_wanted(self) -> None:
        try:
            async with asyncio.timeout(_PROBE_EVERY):
                await self._wanted.wait()
        except TimeoutError:
            return

    def _hear(self, _connection: object, _pid: int, channel: str, payload: object) -> None:
        self._tell(channel, str(payload))

    def _tell(self, channel: str, payload: str) -> None:
        for hear in tuple(self._ears.get(channel, ())):
            hear(payload)
