"""ShardInboxes are the open inboxes of a dispatcher: one a route, or one a stream of each shard.

    undivided   route -> inbox; the one shard is called ""
    divided     shard -> kind of event -> inbox; the subject says which route a delivery is for

Each open inbox has a task that watches whether it has fallen silent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from bus.carrier import Carrier, Delivery, Inbox
from bus.events import EventKind
from bus.events.event import subject_words
from bus.route import Route
from bus.subjects import Subject

WHOLE = ""
"""The shard of an inbox that takes the events of all shards."""
TakeFrom = Callable[[Route, Delivery, Inbox, str], Awaitable[None]]


@dataclass(slots=True, kw_only=True)
class ShardInboxes:
    carrier: Carrier
    routes: Sequence[Route]
    take: TakeFrom
    may_act: Callable[[], bool]
    """Whether the process may still take a shard from its former holder."""
    tasks: asyncio.TaskGroup | None = None
    """The dispatcher's, while it takes deliveries."""
    _open: dict[str, list[Inbox]] = field(default_factory=dict)
    _by_kind: dict[str, Mapping[EventKind, Inbox]] = field(default_factory=dict)
    _watching: dict[str, list[asyncio.Task[None]]] = field(default_factory=dict)

    async def open_routes(self) -> None:
        for route in self.routes:
            await self._open_one(WHOLE, self._inbox_of(route), f"inbox-{route.name}")

    async def open(self, terms: Mapping[str, int]) -> None:
        """Open shards; those that are open stay as they are. Raises CarrierError."""
        new = {shard: term for shard, term in terms.items() if shard not in self._open}
        found = await self.carrier.shard_inboxes(
            new, self.routes, self._take_of_shard, self.may_act
        )
        for shard, inboxes in found.items():
            self._by_kind[shard] = inboxes
            try:
                for kind, inbox in inboxes.items():
                    await self._open_one(shard, inbox, f"inbox-{kind}-{shard}")
            except BaseException:
                await self._give_up(shard)
                raise

    async def drain(self, shards: Collection[str]) -> None:
        for shard in self._open.keys() & set(shards):
            await end_tasks(self._watching.pop(shard, []))
            for inbox in self._open.pop(shard):
                await inbox.drain()

    async def _give_up(self, shard: str) -> None:
        """Close what was opened of a shard, so that the next try opens all of it."""
        await end_tasks(self._watching.pop(shard, []))
        for inbox in self._open.pop(shard, []):
            await inbox.close()

    async def drain_all(self) -> None:
        """Drain whatever is open, and open nothing more."""
        self.tasks = None
        await end_tasks([task for tasks in self._watching.values() for task in tasks])
        self._watching.clear()
        for inbox in self._every():
            await inbox.drain()

    async def close(self) -> None:
        for inbox in self._every():
            await inbox.close()

    def _every(self) -> Iterator[Inbox]:
        return (inbox for inboxes in tuple(self._open.values()) for inbox in inboxes)

    def _inbox_of(self, route: Route) -> Inbox:
        async def taken(delivery: Delivery) -> None:
            await self.take(route, delivery, inbox, WHOLE)

        inbox = self.carrier.inbox(route, taken)
        return inbox

    async def _take_of_shard(self, delivery: Delivery) -> None:
        subject = Subject.parse(delivery.subject)
        kind = EventKind(subject.branch)
        inbox = self._by_kind[subject.shard][kind]
        for route in self.routes:
            if route.event.kind is kind and subject_words(route.event) == subject.words:
                await self.take(route, delivery, inbox, subject.shard)

    async def _open_one(self, shard: str, inbox: Inbox, name: str) -> None:
        self._open.setdefault(shard, []).append(inbox)
        await inbox.open()
        tasks = self.tasks
        if tasks is None:  # a drain has begun, and may have passed this inbox by
            await inbox.close()
            return
        watch = tasks.create_task(inbox.supervise(), name=name)
        self._watching.setdefault(shard, []).append(watch)


async def end_tasks(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
