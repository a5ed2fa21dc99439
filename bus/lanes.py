"""Lanes: serial per key, parallel between keys, and no older ask behind a newer one.

A lane is born with its first item and dies with its last. A fixed number of workers take turns:
each takes the lane that has waited longest, handles one item of it and puts the lane back at the
end, so a busy lane never starves the others. Lanes whose next item goes on with something begun
come first: of a thousand applications at once, the first are done while the last have not begun,
and all parts of the house work at the same time. That starves nobody, because only what was begun
can be gone on with. How much may wait is bounded by who fills the lanes (the inboxes' credit), not
here.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, Protocol, TypeVar


class Item(Protocol):
    @property
    def lane(self) -> str: ...

    @property
    def slot(self) -> Hashable:
        """Items of one slot are one piece of work: only the newest of them waits."""

    @property
    def sequence(self) -> int:
        """Newer is greater; equal is the same item, delivered once more."""

    @property
    def goes_on(self) -> bool:
        """It follows from work that was done already."""


T = TypeVar("T", bound=Item)


class Lanes(Generic[T]):
    def __init__(self) -> None:
        self._lanes: dict[str, dict[Hashable, T]] = {}
        self._ready: asyncio.PriorityQueue[tuple[bool, int, str]] = asyncio.PriorityQueue()
        self._turns = itertools.count()
        self._idle = asyncio.Event()
        self._idle.set()

    def __len__(self) -> int:
        """How many lanes are alive."""
        return len(self._lanes)

    def put(self, item: T) -> T | None:
        """Queue `item`; returns the item that a newer one makes unnecessary, if any."""
        lane = self._lanes.get(item.lane)
        if lane is None:
            lane = self._lanes[item.lane] = {}
            self._wait(item)
            self._idle.clear()
        waiting = lane.get(item.slot)
        if waiting is None or waiting.sequence <= item.sequence:
            lane[item.slot] = item
            return waiting
        return item

    async def work(self, handle: Callable[[T], Awaitable[None]]) -> None:
        """One worker, for ever: whoever owns the lanes runs as many as may work at once."""
        while True:
            _, _, key = await self._ready.get()
            lane = self._lanes[key]
            item = lane.pop(next(iter(lane)))
            try:
                await handle(item)
            finally:
                self._turn(key, lane)

    async def idle(self) -> None:
        """Until nothing waits and nothing is in work."""
        await self._idle.wait()

    def clear(self) -> tuple[T, ...]:
        """Take back everything that waits, e.g. at the end of a drain."""
        waiting = tuple(item for lane in self._lanes.values() for item in lane.values())
        for lane in self._lanes.values():
            lane.clear()
        return waiting

    def _turn(self, key: str, lane: dict[Hashable, T]) -> None:
        if lane:
            self._wait(next(iter(lane.values())))
            return
        del self._lanes[key]
        if not self._lanes:
            self._idle.set()

    def _wait(self, item: T) -> None:
        self._ready.put_nowait((not item.goes_on, next(self._turns), item.lane))
