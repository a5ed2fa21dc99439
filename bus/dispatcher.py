"""Dispatcher: the running corridor. Inboxes fill lanes, workers empty them, one keeper keeps alive.

    inbox (one a route, bounded credit) -> lanes -> workers -> dispatch -> release

Everything that was taken is kept alive at the server while it waits or is worked on, so that slow
work is not delivered twice. `run` owns every task; `stop` makes it drain: take no more, let the
lanes finish until the deadline, then cancel and hand the rest back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import structlog

from bus.carrier import Carrier, Delivery, Inbox
from bus.dispatch import Dispatch
from bus.lanes import Lanes
from bus.route import Route
from bus.taken import Poison, Taken, take

log = structlog.get_logger()

_SIGNS_OF_LIFE = 3
"""How often within `ack_wait` the server hears that a delivery is still wanted."""


@dataclass(slots=True, kw_only=True)
class Dispatcher:
    """Made by `Bus.dispatcher`; whoever made it owns `run()` in a TaskGroup."""

    carrier: Carrier
    routes: Sequence[Route]
    dispatch: Dispatch
    concurrency: int
    drain_seconds: float
    _lanes: Lanes[Taken | Poison] = field(default_factory=Lanes)
    _held: dict[tuple[str, int], Taken | Poison] = field(default_factory=dict)
    _inboxes: dict[str, Inbox] = field(default_factory=dict)
    _ready: asyncio.Event = field(default_factory=asyncio.Event)
    _stopping: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def is_ready(self) -> bool:
        """Every inbox is open and none is being drained."""
        return self._ready.is_set() and not self._stopping.is_set()

    @property
    def held(self) -> int:
        """Deliveries taken and not settled yet: bounded by the inboxes' credit."""
        return len(self._held)

    async def ready(self) -> None:
        await self._ready.wait()

    def stop(self) -> None:
        """Begin to drain; `run` returns when it is over."""
        self._stopping.set()

    async def run(self) -> None:
        """Until `stop` and the drain after it; cancelled, it hands back what it holds at once."""
        try:
            async with asyncio.TaskGroup() as tasks:
                working = self._start(tasks)
                watching = [await self._open(tasks, route) for route in self.routes]
                self._ready.set()
                await self._stopping.wait()
                await _end(watching)
                await self._drain()
                await _end(working)
        finally:
            await self._hand_back()

    def _start(self, tasks: asyncio.TaskGroup) -> list[asyncio.Task[None]]:
        workers = [
            tasks.create_task(self._lanes.work(self._work), name=f"lane-worker-{number}")
            for number in range(self.concurrency)
        ]
        return [*workers, tasks.create_task(self._keep_alive(), name="bus-keep-alive")]

    async def _open(self, tasks: asyncio.TaskGroup, route: Route) -> asyncio.Task[None]:
        async def taken(delivery: Delivery) -> None:
            await self._take(route, delivery)

        inbox = self._inboxes[route.name] = self.carrier.inbox(route, taken)
        await inbox.open()
        return tasks.create_task(inbox.supervise(), name=f"inbox-{route.name}")

    async def _take(self, route: Route, delivery: Delivery) -> None:
        item = take(route, delivery, self.dispatch.sender.command_key)
        if _key(item) in self._held:  # delivered once more although it waits or is worked on
            await self._inboxes[route.name].release()
            return
        self._held[_key(item)] = item
        superseded = self._lanes.put(item)
        if superseded is not None:
            await self.dispatch.skip(superseded)
            await self._release(superseded)

    async def _work(self, item: Taken | Poison) -> None:
        await self.dispatch.handle(item)
        await self._release(item)

    async def _release(self, item: Taken | Poison) -> None:
        del self._held[_key(item)]
        await self._inboxes[item.route.name].release()

    async def _keep_alive(self) -> None:
        while True:
            await asyncio.sleep(self.carrier.ack_wait / _SIGNS_OF_LIFE)
            held = tuple(self._held.values()) if self.carrier.is_connected else ()
            for item in held:
                await item.delivery.in_progress()

    async def _drain(self) -> None:
        for inbox in self._inboxes.values():
            await inbox.drain()
        try:
            async with asyncio.timeout(self.drain_seconds):
                await self._lanes.idle()
        except TimeoutError:
            log.warning("work cut off by the drain's deadline", held=len(self._held))

    async def _hand_back(self) -> None:
        for inbox in self._inboxes.values():
            await inbox.close()
        for item in self._held.values():
            await item.delivery.nak(0)


async def _end(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)


def _key(item: Taken | Poison) -> tuple[str, int]:
    return item.route.name, item.sequence
