"""The budget of tasks: so many may begin in any minute, and the rest waits for its turn.

Reads and writes have a budget each, so that a page full of questions holds up no sync. Who waits is
let in by priority and then in the order of arrival; nothing fails for having to wait.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count

_MINUTE = 60.0


@dataclass(slots=True)
class Window:
    """What began in the last minute. Pure but for its memory."""

    _begun: deque[float] = field(default_factory=deque)

    def wait(self, limit: int, now: float) -> float:
        """Seconds until one more may begin; 0 where it may now."""
        while self._begun and now - self._begun[0] >= _MINUTE:
            self._begun.popleft()
        if len(self._begun) < limit:
            return 0.0
        if limit <= 0:
            return _MINUTE
        return self._begun[len(self._begun) - limit] + _MINUTE - now

    def begin(self, now: float) -> None:
        self._begun.append(now)


Ticket = tuple[int, int]
"""Priority (the least goes first), then the order of arrival."""


@dataclass(slots=True, kw_only=True)
class TaskBudget:
    """One budget; `limit` is asked each time, because the policy may change while tasks wait."""

    limit: Callable[[], int]
    clock: Callable[[], float] = time.monotonic
    _window: Window = field(default_factory=Window)
    _waiting: list[Ticket] = field(default_factory=list)
    _left: set[Ticket] = field(default_factory=set)
    _numbers: count[int] = field(default_factory=count)
    _moved: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the first of the queue is another; replaced by each who waits for it."""

    async def turn(self, priority: int) -> None:
        """Returns when the task may begin, and counts it."""
        ticket = (priority, next(self._numbers))
        heappush(self._waiting, ticket)
        try:
            while (seconds := self._seconds(ticket)) is None or seconds > 0:
                await self._news(seconds)
            self._window.begin(self.clock())
        finally:
            self._left.add(ticket)
            self._moved.set()

    def _seconds(self, ticket: Ticket) -> float | None:
        """Until this one may begin; None while others are before it."""
        while self._waiting and self._waiting[0] in self._left:
            self._left.discard(heappop(self._waiting))
        if self._waiting[0] != ticket:
            return None
        return self._window.wait(self.limit(), self.clock())

    async def _news(self, seconds: float | None) -> None:
        moved = self._moved
        if moved.is_set():
            moved = self._moved = asyncio.Event()
        try:
            async with asyncio.timeout(seconds):
                await moved.wait()
        except TimeoutError:
            return
