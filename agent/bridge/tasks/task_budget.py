"""TaskBudget: limits how many tasks begin in any minute; the others wait.

Reads and writes have a budget each, so that many reads delay no sync. Waiting tasks begin by
priority, then in the order of arrival. No task fails because it has to wait.
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
    """A sliding window over the beginnings of the last minute."""

    _begun: deque[float] = field(default_factory=deque)

    def wait(self, limit: int, now: float) -> float:
        """Seconds until one more task may begin; 0 if it may now."""
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
    """`limit` is called for each decision, because the policy may change while tasks wait."""

    limit: Callable[[], int]
    clock: Callable[[], float] = time.monotonic
    _window: Window = field(default_factory=Window)
    _waiting: list[Ticket] = field(default_factory=list)
    _gone: set[Ticket] = field(default_factory=set)
    _numbers: count[int] = field(default_factory=count)
    _head_changed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the first ticket of the queue changes; replaced by the next wait."""

    async def acquire(self, priority: int) -> None:
        """Wait until the task may begin, and count it."""
        ticket = (priority, next(self._numbers))
        heappush(self._waiting, ticket)
        try:
            while (seconds := self._seconds(ticket)) is None or seconds > 0:
                await self._wait(seconds)
            self._window.begin(self.clock())
        finally:
            self._gone.add(ticket)
            self._head_changed.set()

    def _seconds(self, ticket: Ticket) -> float | None:
        """Seconds until this ticket may begin; None while others are before it."""
        while self._waiting and self._waiting[0] in self._gone:
            self._gone.discard(heappop(self._waiting))
        if self._waiting[0] != ticket:
            return None
        return self._window.wait(self.limit(), self.clock())

    async def _wait(self, seconds: float | None) -> None:
        moved = self._head_changed
        if moved.is_set():
            moved = self._head_changed = asyncio.Event()
        try:
            async with asyncio.timeout(seconds):
                await moved.wait()
        except TimeoutError:
            return
