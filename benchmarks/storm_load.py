"""Halves of requests, and whole ones at once, from many addresses of loopback.

Everything is bounded in count and time, and nothing is sent but to 127.0.0.1. The senders come from
127.0.1.0/24 and up, so that the limits in all are met, not only those of one address.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from enum import StrEnum
from typing import TypeVar

_HOST = "127.0.0.1"
_CONNECT_SECONDS, _PATIENCE = 20.0, 60.0
_CHUNK = 1 << 16
_AT_ONCE = 100
_ADDRESSES = 100
T = TypeVar("T")


class Ending(StrEnum):
    """How the server ended a connection or answered a request."""

    ANSWERED = "answered"
    REFUSED = "refused"
    CUT = "cut"
    OPEN = "still open"


EndingCounts = Counter[Ending]


def source(number: int) -> str:
    """One of the storm's addresses."""
    return f"127.0.1.{1 + number % _ADDRESSES}"


async def half_sent(port: int, count: int, head: bytes, body: int = 0) -> EndingCounts:
    """Send `count` heads and so many bytes of each body, then nothing; see how each ends."""
    gate = asyncio.Semaphore(_AT_ONCE)

    async def one(number: int) -> Ending:
        return await _half(port, source(number), head, body, gate)

    return EndingCounts(await _each(count, one))


async def requests_at_once(port: int, count: int, request: Callable[[int], bytes]) -> EndingCounts:
    """Send `count` whole requests at once."""

    async def one(number: int) -> Ending:
        try:
            return ending_of(await exchange(port, source(number), request(number)))
        except (OSError, TimeoutError):
            return Ending.CUT

    return EndingCounts(await _each(count, one))


async def exchange(port: int, address: str, request: bytes) -> bytes:
    """The whole answer to a request on a connection of its own, which the server closes."""
    async with asyncio.timeout(_PATIENCE):
        reader, writer = await asyncio.open_connection(_HOST, port, local_addr=(address, 0))
        try:
            writer.write(request)
            return await reader.read()
        finally:
            writer.transport.abort()


async def _half(port: int, address: str, head: bytes, body: int, gate: asyncio.Semaphore) -> Ending:
    writer = None
    try:
        async with gate, asyncio.timeout(_CONNECT_SECONDS):
            reader, writer = await asyncio.open_connection(_HOST, port, local_addr=(address, 0))
            writer.write(head)
        async with asyncio.timeout(_PATIENCE):
            for _ in range(body // _CHUNK):
                writer.write(b" " * _CHUNK)
                await writer.drain()
            return ending_of(await reader.read())
    except TimeoutError:
        return Ending.OPEN
    except OSError:
        return Ending.CUT
    finally:
        if writer is not None:
            writer.transport.abort()


def ending_of(answer: bytes) -> Ending:
    """How the answer, or its head, says that the request ended; an empty one was cut."""
    if not answer:
        return Ending.CUT
    return Ending.ANSWERED if answer.split(b" ", 2)[1].startswith(b"2") else Ending.REFUSED


async def _each(count: int, one: Callable[[int], Coroutine[None, None, T]]) -> list[T]:
    async with asyncio.TaskGroup() as tasks:
        sent = [tasks.create_task(one(number), name=f"sender {number}") for number in range(count)]
    return [task.result() for task in sent]
