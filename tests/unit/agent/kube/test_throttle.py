from __future__ import annotations

import asyncio

from agent.kube.throttle import Limit, Throttle


def test_quick_answers_open_the_limit_up_to_its_ceiling() -> None:
    limit = Limit(ceiling=20)

    for second in range(1000):
        limit.answered(now=second, seconds=0.01)

    assert limit.value == 20


def test_a_refusal_closes_the_limit_once_per_moment() -> None:
    limit = Limit(ceiling=100)
    first = limit.value

    limit.overloaded(now=1.0)
    once = limit.value
    limit.overloaded(now=1.01)

    assert once < first
    assert limit.value == once


def test_slow_answers_close_the_limit_but_never_quite() -> None:
    limit = Limit(ceiling=100)
    limit.answered(now=0, seconds=0.01)

    for second in range(1, 100):
        limit.answered(now=second * 10, seconds=5.0)

    assert limit.value == 2


def test_a_ceiling_of_one_is_kept() -> None:
    limit = Limit(ceiling=1)
    limit.overloaded(now=1.0)
    limit.answered(now=2.0, seconds=0.01)

    assert limit.value == 1


async def test_no_more_are_open_than_the_limit_says() -> None:
    throttle, most = Throttle(Limit(ceiling=2)), 0

    async def work() -> None:
        nonlocal most
        async with throttle:
            most = max(most, throttle.open)
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as group:
        for _ in range(10):
            group.create_task(work())

    assert (most, throttle.open) == (2, 0)


async def test_who_is_cancelled_while_waiting_leaves_no_gap() -> None:
    throttle = Throttle(Limit(ceiling=1))
    served = asyncio.Event()

    async def wait_for_turn() -> None:
        async with throttle:
            served.set()

    async with asyncio.TaskGroup() as group, throttle:
        cancelled = group.create_task(wait_for_turn())
        group.create_task(wait_for_turn())
        await asyncio.sleep(0)
        cancelled.cancel()

    assert served.is_set()
    assert throttle.open == 0


async def test_who_is_cancelled_at_its_turn_passes_it_on() -> None:
    throttle = Throttle(Limit(ceiling=1))
    served = asyncio.Event()

    async def wait_for_turn(done: asyncio.Event) -> None:
        async with throttle:
            done.set()

    async with asyncio.TaskGroup() as group:
        async with throttle:
            chosen = group.create_task(wait_for_turn(asyncio.Event()))
            group.create_task(wait_for_turn(served))
            await asyncio.sleep(0)
        chosen.cancel()

    assert served.is_set()
    assert throttle.open == 0
