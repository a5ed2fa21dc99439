"""How many tasks may begin in a minute: who waits goes by priority and then by arrival."""

import asyncio
from contextlib import suppress

from agent.bridge.tasks.task_budget import TaskBudget, Window
from tests.support import eventually


def test_the_window_counts_any_minute() -> None:
    window, seen = Window(), []
    for now in (0.0, 1.0, 2.0, 59.0, 60.5, 60.6):
        seen.append(window.wait(2, now) == 0)
        if seen[-1]:
            window.begin(now)
    assert seen == [True, True, False, False, True, False]


def test_the_wait_ends_when_the_oldest_is_a_minute_old() -> None:
    window = Window()
    for now in (0.0, 10.0, 20.0):
        window.begin(now)
    assert window.wait(3, 30.0) == 30.0
    assert window.wait(2, 30.0) == 40.0
    assert window.wait(4, 30.0) == 0.0


class Bench:
    """A budget of no place, to which places are added, and the order in which they are taken."""

    def __init__(self) -> None:
        self.places = 0
        self.budget = TaskBudget(limit=lambda: self.places)
        self.order: list[str] = []

    async def wait(self, name: str, priority: int) -> None:
        await self.budget.acquire(priority)
        self.order.append(name)


async def test_who_waits_goes_by_priority_then_by_arrival() -> None:
    bench = Bench()
    async with asyncio.TaskGroup() as group:
        for name, priority in (("bulk-1", 2), ("bulk-2", 2), ("person", 0), ("control", 1)):
            group.create_task(bench.wait(name, priority))
        await eventually(lambda: len(bench.budget._waiting) == 4)
        bench.places = 100
        bench.budget._head_changed.set()
    assert bench.order == ["person", "control", "bulk-1", "bulk-2"]


async def test_one_who_gives_up_holds_up_nobody() -> None:
    bench = Bench()
    first = asyncio.ensure_future(bench.wait("first", 0))
    second = asyncio.ensure_future(bench.wait("second", 0))
    await eventually(lambda: len(bench.budget._waiting) == 2)
    first.cancel()
    with suppress(asyncio.CancelledError):
        await first
    bench.places = 1
    bench.budget._head_changed.set()
    await asyncio.wait_for(second, 60)
    assert bench.order == ["second"]


async def test_a_bulk_of_five_hundred_ends_whole_and_in_order() -> None:
    """A hundred in each minute, none refused; the clock goes on when everybody waits."""
    now, done = [0.0], []
    budget = TaskBudget(limit=lambda: 100, clock=lambda: now[0])

    async def one(number: int) -> None:
        await budget.acquire(2)
        done.append((number, now[0]))

    async with asyncio.TaskGroup() as group:
        for number in range(500):
            group.create_task(one(number))
        for minute in range(1, 6):
            await eventually(lambda expected=minute * 100: len(done) == expected)
            now[0] = minute * 60.0
            budget._head_changed.set()
    assert [number for number, _ in done] == list(range(500))
    assert [at for _, at in done[::100]] == [0.0, 60.0, 120.0, 180.0, 240.0]
