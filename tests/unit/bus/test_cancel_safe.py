"""A call to NATS that is cancelled ends, also where its answer comes in the same moment."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from random import Random

import pytest
from nats.aio.msg import Msg

from bus.jetstream.nats_client import NatsClient, cancel_safe, ended_within

_CALLS = 500
_LONGEST_SECONDS = 0.0015
"""About as long as such a call takes, so that some end in the moment of their answer."""


@pytest.fixture
async def client(nats_url: str) -> AsyncIterator[NatsClient]:
    client = NatsClient()
    await client.connect(nats_url)
    yield client
    await client.close()


async def test_a_request_cancelled_at_any_moment_is_cancelled(client: NatsClient) -> None:
    async def answer(message: Msg) -> None:
        await message.respond(b"here")

    subscription = await client.subscribe("heeding.request", cb=answer)
    random, asked, ended = Random(11), 0, 0  # noqa: S311  spreads moments, guards nothing
    for _ in range(_CALLS):
        call = asyncio.create_task(client.request("heeding.request", b"", timeout=5))
        await asyncio.sleep(random.random() * _LONGEST_SECONDS)
        asked += call.cancel()
        await asyncio.wait({call})
        ended += call.cancelled()
    await subscription.unsubscribe()
    assert 0 < asked == ended


async def test_an_answer_that_comes_with_the_cancellation_does_not_hide_it() -> None:
    answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def ask() -> str:
        return await cancel_safe(asyncio.wait_for(answer, 5))

    call = asyncio.create_task(ask())
    await asyncio.sleep(0)
    answer.set_result("here")
    call.cancel()
    await asyncio.wait({call})
    assert call.cancelled()


async def test_a_call_that_nobody_cancels_gives_its_result() -> None:
    async def ask() -> str:
        return "here"

    assert await cancel_safe(ask()) == "here"


async def swallowing(times: int) -> None:
    """As nats-py's tries to connect: a cancellation may be lost between two of them."""
    for _ in range(times):
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
    await asyncio.Event().wait()


async def test_a_call_that_swallows_its_cancellation_ends_all_the_same() -> None:
    with pytest.raises(TimeoutError):
        await ended_within(swallowing(3), 0.01)


async def test_a_call_that_swallows_the_cancellation_of_its_caller_ends_with_it() -> None:
    caller = asyncio.create_task(ended_within(swallowing(3), 300))
    await asyncio.sleep(0)
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller


async def test_what_a_call_in_time_says_is_passed_on() -> None:
    async def refused() -> None:
        raise LookupError("no server")

    assert await ended_within(asyncio.sleep(0, "here"), 300) == "here"
    with pytest.raises(LookupError):
        await ended_within(refused(), 300)
