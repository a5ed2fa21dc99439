"""The throttle bounds concurrent requests to as many as the API server answers well.

The limit increases additively while the server keeps up and decreases multiplicatively when it
answers 429 or slows down far beyond its best, up to a configured ceiling. No fixed rate: a fast
server is used, a slow one is spared. Watches do not count.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from types import TracebackType
from typing import Self

_FIRST = 16.0
_LEAST = 2.0
_SLOWDOWN = 8.0
_DECREASE = 0.7
_FORGET = 1.001
_SLOW = 1.0
_ROUND = 0.2


class Limit:
    """The limit as a number that follows the observed answers. Pure."""

    def __init__(self, ceiling: int = 64) -> None:
        self._ceiling = float(max(1, ceiling))
        self._value = min(_FIRST, self._ceiling)
        self._best = float("inf")
        self._decided = float("-inf")

    @property
    def value(self) -> int:
        return int(self._value)

    def overloaded(self, now: float) -> None:
        """Decrease at most once per round of answers, which all reflect the same moment."""
        if now - self._decided > _ROUND:
            self._value = max(min(_LEAST, self._ceiling), self._value * _DECREASE)
            self._decided = now

    def answered(self, now: float, seconds: float) -> None:
        self._best = min(self._best * _FORGET, seconds)
        if seconds > max(self._best * _SLOWDOWN, _SLOW):
            self.overloaded(now)
        else:
            self._value = min(self._ceiling, self._value + 1 / self._value)


class Throttle:
    """Use `async with throttle:` around a request; waiting requests are served in order."""

    def __init__(self, limit: Limit) -> None:
        self.limit = limit
        self.open = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def __aenter__(self) -> Self:
        if self.open >= self.limit.value or self._waiting:
            await self._wait()
        else:
            self.open += 1
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._release()

    async def _wait(self) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._release()
            else:
                self._forget(turn)
            raise

    def _forget(self, turn: asyncio.Future[None]) -> None:
        with suppress(ValueError):  # passed over already by a release
            self._waiting.remove(turn)

    def _release(self) -> None:
        self.open -= 1
        while self._waiting and self.open < self.limit.value:
            turn = self._waiting.popleft()
            if not turn.done():
                self.open += 1
                turn.set_result(None)
