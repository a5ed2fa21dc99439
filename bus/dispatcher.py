"""The dispatcher runs the routes: inboxes fill lanes, and workers empty them.

    inbox (one a route, bounded credit) -> lanes -> workers -> dispatch -> release

A lane is serial; lanes run in parallel. It begins with its first item and ends with its last; of
equal asks only the newest is kept. Each worker takes the lane that has waited longest, handles one
item of it and puts the lane back at the end, so a busy lane never starves the others. Lanes whose
next item continues begun work come first: of a thousand applications at once, the first are
finished while the last have not begun. That starves no lane, because only begun work can be
continued. How much may wait is bounded by the inboxes' credit.

Where replicas divide the shards, `open` and `drain` take up shards and give them back: each has one
inbox a stream, with the events of all routes.

A delivery that was taken is kept alive at the server while it waits or is handled, so that slow
work is not delivered twice. `run` owns every task; `stop` makes it drain: take no more, let the
lanes finish until the deadline, then cancel and hand the rest back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import structlog

from bus.carrier import Carrier, Delivery, Inbox
from bus.dispatch import Dispatch
from bus.lanes import Lanes
from bus.route import Route
from bus.shard_inboxes import ShardInboxes, end_tasks
from bus.taken_delivery import DecodedDelivery, PoisonDelivery, take

log = structlog.get_logger()

_SIGNS_OF_LIFE = 3
"""Signs of life that the server gets for each delivery within one `ack_wait`."""


@dataclass(frozen=True, slots=True)
class _OpenDelivery:
    """A delivery that is taken and not settled, with the inbox that gets its credit back."""

    item: DecodedDelivery | PoisonDelivery
    inbox: Inbox
    shard: str


@dataclass(slots=True, kw_only=True)
class Dispatcher:
    """Made by `Bus.dispatcher`; its maker owns `run()` in a TaskGroup."""

    carrier: Carrier
    routes: Sequence[Route]
    dispatch: Dispatch
    concurrency: int
    drain_seconds: float
    divided: bool = False
    """Whether it takes only the shards that `open` names."""
    _lanes: Lanes[DecodedDelivery | PoisonDelivery] = field(default_factory=Lanes)
    _held: dict[tuple[str, int], _OpenDelivery] = field(default_factory=dict)
    _inboxes: ShardInboxes = field(init=False)
    _ready: asyncio.Event = field(default_factory=asyncio.Event)
    _settled: asyncio.Event = field(default_factory=asyncio.Event)
    _stopping: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self._inboxes = ShardInboxes(
            carrier=self.carrier,
            routes=self.routes,
            take=self._take,
            may_act=self.dispatch.may_act,
        )

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
        """Run until `stop` and the drain after it; when cancelled, hand back all deliveries."""
        try:
            async with asyncio.TaskGroup() as tasks:
                working = self._start(tasks)
                self._inboxes.tasks = tasks
                if not self.divided:
                    await self._inboxes.open_routes()
                self._ready.set()
                await self._stopping.wait()
                await self._drain()
                await end_tasks(working)
        finally:
            await self._hand_back()

    async def open(self, terms: Mapping[str, int]) -> None:
        """Take the deliveries of shards, each with its term; raises CarrierError."""
        await self._inboxes.open(terms)

    async def drain(self, shards: Collection[str]) -> None:
        """Give back shards: return when nothing of them is taken, waits or is in work any more.

        What waits is handed back. A call of a handler is not cut off: its time limit bounds it.
        """
        await self._inboxes.drain(shards)
        waiting = self._lanes.remove(lambda item: self._held[_key(item)].shard in shards)
        for item in waiting:
            del self._held[_key(item)]
            await item.delivery.nak(0)
        while any(held.shard in shards for held in self._held.values()):
            self._settled.clear()
            await self._settled.wait()

    def _start(self, tasks: asyncio.TaskGroup) -> list[asyncio.Task[None]]:
        workers = [
            tasks.create_task(self._lanes.work(self._work), name=f"lane-worker-{number}")
            for number in range(self.concurrency)
        ]
        return [*workers, tasks.create_task(self._keep_alive(), name="bus-keep-alive")]

    async def _take(self, route: Route, delivery: Delivery, inbox: Inbox, shard: str) -> None:
        item = take(route, delivery, self.dispatch.sender.command_key)
        if _key(item) in self._held:  # the server delivered it again, while the first still waits
            await inbox.release()
            return
        self._held[_key(item)] = _OpenDelivery(item, inbox, shard)
        superseded = self._lanes.put(item)
        if superseded is not None:
            await self.dispatch.skip(superseded)
            await self._release(superseded)

    async def _work(self, item: DecodedDelivery | PoisonDelivery) -> None:
        await self.dispatch.handle(item)
        await self._release(item)

    async def _release(self, item: DecodedDelivery | PoisonDelivery) -> None:
        held = self._held.pop(_key(item))
        self._settled.set()
        await held.inbox.release()

    async def _keep_alive(self) -> None:
        while True:
            await asyncio.sleep(self.carrier.ack_wait / _SIGNS_OF_LIFE)
            held = tuple(self._held.values()) if self.carrier.is_connected else ()
            for one in held:
                await one.item.delivery.in_progress()

    async def _drain(self) -> None:
        await self._inboxes.drain_all()
        try:
            async with asyncio.timeout(self.drain_seconds):
                await self._lanes.idle()
        except TimeoutError:
            log.warning("work cut off by the drain's deadline", held=len(self._held))

    async def _hand_back(self) -> None:
        await self._inboxes.close()
        for one in self._held.values():
            await one.item.delivery.nak(0)


def _key(item: DecodedDelivery | PoisonDelivery) -> tuple[str, int]:
    return item.route.name, item.sequence
