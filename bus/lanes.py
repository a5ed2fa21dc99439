"""Lanes keep the order of work: a lane is serial, and lanes run in parallel."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, Protocol, TypeVar


class LaneItem(Protocol):
    @property
    def lane(self) -> str: ...

    @property
    def slot(self) -> Hashable:
        """The identity of the work: of several items of one slot only the newest waits."""

    @property
    def sequence(self) -> int:
        """The order of the items: newer is greater, equal is the same item delivered again."""

    @property
    def continues(self) -> bool:
        """Whether the item continues work that was begun."""


T = TypeVar("T", bound=LaneItem)


class Lanes(Generic[T]):
    def __init__(self) -> None:
        self._lanes: dict[str, dict[Hashable, T]] = {}
        self._ready: asyncio.PriorityQueue[tuple[bool, int, str]] = asyncio.PriorityQueue()
        self._turns = itertools.count()
        self._idle = asyncio.Event()
        self._idle.set()

    def __len__(self) -> int:
        """Count the lanes that hold items or are in work."""
        return len(self._lanes)

    def put(self, item: T) -> T | None:
        """Queue `item`; return the item that a newer one supersedes, if any."""
        lane = self._lanes.get(item.lane)
        if lane is None:
            lane = self._lanes[item.lane] = {}
            self._wait(item)
            self._idle.clear()
        # A lane that exists is queued or in work, so its new items need no place in the queue.
        # A redelivered older item must not replace a newer one: then `item` itself is superseded.
        waiting = lane.get(item.slot)
        if waiting is None or waiting.sequence <= item.sequence:
            lane[item.slot] = item
            return waiting
        return item

    async def work(self, handle: Callable[[T], Awaitable[None]]) -> None:
        """Run one worker for ever; the owner of the lanes starts one per concurrent call."""
        while True:
            _, _, key = await self._ready.get()
            lane = self._lanes[key]
            try:
                if lane:  # else its items were removed while it waited for its turn
                    await handle(lane.pop(next(iter(lane))))
            finally:
                self._turn(key, lane)

    async def idle(self) -> None:
        """Wait until no item waits and none is in work."""
        await self._idle.wait()

    def remove(self, is_removed: Callable[[T], bool]) -> tuple[T, ...]:
        """Remove and return waiting items; what is in work is not among them."""
        removed: list[T] = []
        for lane in self._lanes.values():
            for slot, item in tuple(lane.items()):
                if is_removed(item):
                    removed.append(lane.pop(slot))
        return tuple(removed)

    def _turn(self, key: str, lane: dict[Hashable, T]) -> None:
        if lane:
            self._wait(next(iter(lane.values())))
            return
        del self._lanes[key]
        if not self._lanes:
            self._idle.set()

    def _wait(self, item: T) -> None:
        self._ready.put_nowait((not item.continues, next(self._turns), item.lane))
