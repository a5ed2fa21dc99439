"""The stream of one subscriber: missed events, then new ones, and a beat in between.

The order matters: listen first, then read what was missed, then drop from what was heard meanwhile
everything that was read. A listener that falls behind is told why and closed; it resumes with
Last-Event-ID. Access is watched outside: see service/http/stream_access.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime

import msgspec
from aiohttp import web
from sqlalchemy.ext.asyncio import AsyncEngine

from service.live.change_event import frame, server_sent
from service.live.feed_reader import PAGE, AgentScopes, events_after, is_kept, newest
from service.live.listener_hub import Listener, ListenerHub

BEAT = b": beat\n\n"
_AT_ONCE = 200


class StreamEndedError(Exception):
    """Why the stream ends, as the subscriber is told."""


@dataclass(slots=True, kw_only=True)
class EventStream:
    engine: AsyncEngine
    hub: ListenerHub
    clock: Callable[[], datetime]
    listener: Listener
    response: web.StreamResponse
    scopes: AgentScopes = field(default_factory=AgentScopes)
    _last: int = 0

    async def run(self, last: int | None) -> None:
        """Send events until the subscriber is gone or cut; `last`: its last id, None: from now."""
        try:
            with self.hub.listening(self.listener):
                await self._begin(last)
                await self._follow()
        except StreamEndedError as end:
            await self.end(str(end))
        except (ConnectionError, TimeoutError):
            return

    async def end(self, reason: str) -> None:
        """Tell the subscriber why, if it still reads."""
        with suppress(ConnectionError, TimeoutError):
            await self._send("end", {"reason": reason})

    async def _begin(self, last: int | None) -> None:
        async with self.engine.connect() as connection:
            now_at = await newest(connection, self.listener.account)
            kept = last is None or await is_kept(connection, self.listener.account, last)
        self._last = now_at if last is None else min(last, now_at)
        self.hub.begin(self.listener.account, now_at)
        await self._send("hello", {"resume": self._last, "beat": self.hub.terms.beat}, self._last)
        if not kept:
            await self._send("gap", {"after": last, "reason": "older than what is kept"})
        await self._replay(now_at)

    async def _replay(self, until: int) -> None:
        while self._last < until:
            async with self.engine.connect() as connection:
                found = await events_after(
                    connection, self.listener.account, self._last, self.scopes, self.clock()
                )
            texts = [server_sent(it) for it in found if self.listener.wants(it)]
            if texts:
                await self._write(b"".join(texts))
            self._last = found[-1].id if found else until
            if len(found) < PAGE:
                return

    async def _follow(self) -> None:
        loop = asyncio.get_running_loop()
        beat_at = loop.time() + self.hub.terms.beat
        while True:
            if await self._woken_before(beat_at):
                await self._drain()
            if loop.time() >= beat_at:
                await self._write(BEAT)
                beat_at = loop.time() + self.hub.terms.beat

    async def _woken_before(self, deadline: float) -> bool:
        try:
            async with asyncio.timeout_at(deadline):
                await self.listener.woken.wait()
        except TimeoutError:
            return False
        return True

    async def _drain(self) -> None:
        if self.listener.cut:
            raise StreamEndedError(
                "slow: events came faster than they were read; resume by Last-Event-ID"
            )
        fresh = [it for it in self.listener.take(_AT_ONCE) if it.event.id > self._last]
        if fresh:
            await self._write(b"".join(it.text for it in fresh))
            self._last = fresh[-1].event.id

    async def _send(self, name: str, body: object, number: int | None = None) -> None:
        await self._write(frame(name, msgspec.json.encode(body), number))

    async def _write(self, text: bytes) -> None:
        async with asyncio.timeout(self.hub.terms.slow):
            await self.response.write(text)
