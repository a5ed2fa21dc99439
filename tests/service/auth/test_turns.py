"""Turns: bounded, fair between holders, and never lost."""

from __future__ import annotations

import asyncio

import pytest

from bus.http.budget import Budget
from service.auth.passwords import TooManyWaitingError, WaitingTurns


def turns(at_once: int = 1, total: int = 50, share: int = 40) -> WaitingTurns:
    return WaitingTurns(at_once=at_once, slots=Budget(total=total, share=share))


async def test_a_holder_with_many_requests_delays_only_itself() -> None:
    made, order, held = turns(), [], asyncio.Event()

    async def work(holder: str) -> None:
        async with made.turn(holder):
            order.append(holder)
            await held.wait()

    async with asyncio.TaskGroup() as tasks:
        for holder in ["guesser"] * 10 + ["mira"]:
            tasks.create_task(work(holder), name=holder)
            await asyncio.sleep(0)
        held.set()
    assert order.index("mira") == 2  # one is at work, one was next: then mira's only one
    assert order.count("guesser") == 10


async def test_a_request_that_finds_no_slot_is_refused_at_once() -> None:
    made = turns(total=2, share=1)
    async with made.turn("a"):
        with pytest.raises(TooManyWaitingError):
            async with made.turn("a"):
                pass
    async with made.turn("a"):
        assert made.slots.used == 1
    assert made.slots.used == 0


async def test_a_turn_that_was_given_to_somebody_cancelled_goes_on() -> None:
    made = turns()
    async with asyncio.TaskGroup() as tasks, made.turn("a"):
        waiting = [tasks.create_task(_enter(made, str(n)), name=str(n)) for n in range(5)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        waiting[3].cancel()
    assert [task.cancelled() for task in waiting] == [True, False, False, True, False]
    assert made.slots.used == 0
    async with made.turn("b"):
        pass


async def _enter(made: WaitingTurns, holder: str) -> None:
    async with made.turn(holder):
        await asyncio.sleep(0)
