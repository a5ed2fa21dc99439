"""Turns: few at once, a bounded number that wait, and one after the other of those who ask.

Whoever asks often waits behind itself: turns go round the holders, so another's first request is
next. Who finds all places taken is told so at once, and does not wait.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from bus.http.budget import Budget


class NoPlaceError(Exception):
    """Too many wait already: come again in a moment."""


@dataclass(slots=True, kw_only=True)
class Turns:
    at_once: int
    places: Budget
    """Those at work or waiting, by holder."""
    _working: int = 0
    _waiting: dict[str, deque[asyncio.Future[None]]] = field(default_factory=dict)

    @asynccontextmanager
    async def turn(self, holder: str) -> AsyncIterator[None]:
        """Raises NoPlaceError."""
        if not self.places.take(holder):
            raise NoPlaceError
        try:
            await self._wait(holder)
            try:
                yield
            finally:
                self._pass_on()
        finally:
            self.places.give_back(holder)

    async def _wait(self, holder: str) -> None:
        if self._working < self.at_once:
            self._working += 1
            return
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        queue = self._waiting.setdefault(holder, deque())
        queue.append(mine)
        try:
            await mine
        except asyncio.CancelledError:
            if mine.done() and not mine.cancelled():
                self._pass_on()
            raise

    def _pass_on(self) -> None:
        """Give the turn to the next holder's first, passing over those who have gone."""
        while self._waiting:
            holder = next(iter(self._waiting))
            queue = self._waiting.pop(holder)
            following = queue.popleft()
            if queue:
                self._waiting[holder] = queue
            if not following.done():
                following.set_result(None)
                return
        self._working -= 1
