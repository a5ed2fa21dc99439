"""A burst of deliveries is few publishes; none is told that an older ask was its own."""

from __future__ import annotations

import asyncio

import pytest

from agent.ingress.pending_asks import SharedPublish
from bus.carrier import CarrierError
from bus.events import Event, RefreshRepository
from bus.identity import RepositoryKey
from bus.trace import Trace
from tests.support import eventually

SHOP = (RefreshRepository(repository=RepositoryKey("http://git.example/shop.git")),)
BLOG = (RefreshRepository(repository=RepositoryKey("http://git.example/blog.git")),)


class SlowBus:
    """Each publish lasts until it is let go."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.may_end = asyncio.Semaphore(0)
        self.lost = False

    async def publish(
        self,
        *events: Event,
        message_id: str = "",
        trace: Trace | None = None,
    ) -> None:
        assert events
        self.begun.append(message_id)
        await self.may_end.acquire()
        if self.lost:
            raise CarrierError("no server")


class PublishBurst:
    def __init__(self, tasks: asyncio.TaskGroup) -> None:
        self.bus = SlowBus()
        self.shared = SharedPublish(publish=self.bus.publish)
        self.tasks = tasks

    def deliver(self, name: str, asks: tuple[Event, ...] = SHOP) -> asyncio.Task[None]:
        delivery = self.shared(asks, message_id=name, trace=Trace.start())
        return self.tasks.create_task(delivery, name=name)

    async def begun(self, *names: str) -> None:
        await eventually(lambda: self.bus.begun == [*names], what=f"{names} are published")


async def test_a_burst_shares_the_publish_after_the_one_that_is_under_way() -> None:
    async with asyncio.TaskGroup() as tasks:
        burst = PublishBurst(tasks)
        first = burst.deliver("first")
        await burst.begun("first")
        others = [burst.deliver(f"other-{number}") for number in range(100)]

        burst.bus.may_end.release()
        await first
        await burst.begun("first", "other-0")
        assert not any(other.done() for other in others)
        burst.bus.may_end.release()

    assert burst.bus.begun == ["first", "other-0"]


async def test_another_repository_waits_for_nobody() -> None:
    async with asyncio.TaskGroup() as tasks:
        burst = PublishBurst(tasks)
        burst.deliver("shop")
        burst.deliver("blog", BLOG)
        await burst.begun("shop", "blog")
        for _ in range(2):
            burst.bus.may_end.release()


async def test_a_leader_that_is_cut_off_takes_nobody_with_it() -> None:
    async with asyncio.TaskGroup() as tasks:
        burst = PublishBurst(tasks)
        burst.deliver("first")
        await burst.begun("first")
        leader, follower = burst.deliver("leader"), burst.deliver("follower")
        burst.bus.may_end.release()
        await burst.begun("first", "leader")
        leader.cancel()
        await burst.begun("first", "leader", "follower")
        burst.bus.may_end.release()

    assert leader.cancelled()
    assert follower.exception() is None


async def test_a_leader_cut_off_before_its_turn_leaves_it_to_the_next() -> None:
    async with asyncio.TaskGroup() as tasks:
        burst = PublishBurst(tasks)
        burst.deliver("first")
        await burst.begun("first")
        leader, follower = burst.deliver("leader"), burst.deliver("follower")
        await eventually(lambda: len(burst.shared._waiting) == 1, what="the leader waits")
        leader.cancel()
        for _ in range(2):
            burst.bus.may_end.release()
        await follower

    assert burst.bus.begun == ["first", "follower"]


async def test_a_failure_is_raised_and_leaves_nothing_behind() -> None:
    bus = SlowBus()
    bus.lost = True
    bus.may_end.release()
    shared = SharedPublish(publish=bus.publish)
    with pytest.raises(CarrierError):
        await shared(SHOP, message_id="only", trace=Trace.start())

    bus.lost = False
    bus.may_end.release()
    await shared(SHOP, message_id="again", trace=Trace.start())
    assert bus.begun == ["only", "again"]
