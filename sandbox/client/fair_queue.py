"""FairQueue gives a fixed set of slots to projects in turn.

Who waits is served by project, not by arrival: the next free slot goes to the waiting project that
holds the fewest, and among equals to the one that was served longest ago. A project alone may hold
every slot; as soon as another one asks, the next slot that becomes free is that project's.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

T = TypeVar("T")


class QueueFullError(Exception):
    """A waiting caller lost its place in the queue; it may come again."""


class Slot(Generic[T]):
    """What a holder of a slot works with; it may put something else into it."""

    def __init__(self, content: T) -> None:
        self.content = content


class FairQueue(Generic[T]):
    """Slots are taken by `slot` and are free again after it, also when the caller is cancelled.

    Raises SentAwayError where `send_away` was called for the project meanwhile.
    """

    def __init__(self, contents: Iterable[T]) -> None:
        self._free = [Slot(content) for content in contents]
        self._held: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[Slot[T]]]] = {}
        self._turns: dict[str, int] = {}
        """When each project was served last, as a number that only grows."""

    @property
    def waiting(self) -> int:
        """How many projects wait."""
        return len(self._waiting)

    def waits(self, project: str) -> int:
        """How many callers of the project wait."""
        return len(self._waiting.get(project, ()))

    def has(self, project: str) -> bool:
        """Whether the project holds a slot or waits for one."""
        return self._held[project] > 0 or project in self._waiting

    @asynccontextmanager
    async def slot(self, project: str) -> AsyncIterator[Slot[T]]:
        slot = await self._take(project)
        try:
            yield slot
        finally:
            self._give_back(project, slot)

    def send_away(self, project: str, keep: int) -> None:
        """Let only the first `keep` callers of the project wait: the others get SentAwayError."""
        turns = self._waiting.get(project, deque())
        while len(turns) > keep:
            turns.pop().set_exception(QueueFullError(project))

    async def _take(self, project: str) -> Slot[T]:
        turn: asyncio.Future[Slot[T]] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(project, deque()).append(turn)
        self._serve()
        try:
            return await turn
        except asyncio.CancelledError:
            self._give_up(project, turn)
            raise

    def _give_up(self, project: str, turn: asyncio.Future[Slot[T]]) -> None:
        """A cancelled caller may have been served in the same moment: its slot goes on."""
        turns = self._waiting.get(project, deque())
        if turn in turns:
            turns.remove(turn)
            if not turns:
                del self._waiting[project]
        elif turn.done() and not turn.cancelled() and turn.exception() is None:
            self._give_back(project, turn.result())

    def _give_back(self, project: str, slot: Slot[T]) -> None:
        self._held[project] -= 1
        if not self._held[project]:
            del self._held[project]
        self._free.append(slot)
        self._serve()

    def _serve(self) -> None:
        while self._free and self._waiting:
            project = next_project(self._waiting, self._held, self._turns)
            turns = self._waiting[project]
            turn = turns.popleft()
            if not turns:
                del self._waiting[project]
            if turn.done():  # cancelled, and its caller has not run since
                continue
            self._held[project] += 1
            self._turns[project] = max(self._turns.values(), default=0) + 1
            turn.set_result(self._free.pop())


def next_project(waiting: Iterable[str], held: Mapping[str, int], turns: Mapping[str, int]) -> str:
    """The project that is served next: it holds the fewest slots, and was served longest ago."""
    return min(waiting, key=lambda project: (held.get(project, 0), turns.get(project, 0)))
