"""Signals and the drain: what is told to whom, and what a deadline leaves undone."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from agent.clock import SystemClock
from agent.shutdown import drain, stopping


async def test_the_first_signal_is_told_and_the_second_cancels() -> None:
    async def work(inside: asyncio.Event) -> str:
        async with stopping() as stopped:
            inside.set()
            await stopped.wait()
            os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.Event().wait()
        return "never"

    inside = asyncio.Event()
    async with asyncio.timeout(60):
        task = asyncio.create_task(work(inside), name="work")
        await inside.wait()
        os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_drain_takes_its_steps_in_order() -> None:
    taken: list[str] = []

    async def step(name: str) -> None:
        taken.append(name)

    steps = [(name, lambda name=name: step(name)) for name in ("ingress", "lanes", "outbox")]

    assert await drain(steps, 10) == ()
    assert taken == ["ingress", "lanes", "outbox"]


async def test_a_drain_that_meets_its_deadline_names_what_is_undone() -> None:
    async def quick() -> None: ...

    async def stuck() -> None:
        await asyncio.Event().wait()

    steps = [("ingress", quick), ("lanes", stuck), ("outbox", quick)]

    assert await drain(steps, 0.01) == ("lanes", "outbox")


def test_now_knows_its_zone() -> None:
    offset = SystemClock().now().utcoffset()

    assert offset is not None
    assert not offset
