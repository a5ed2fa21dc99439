"""The parts of a storm: halves of requests, webhooks and logins, from addresses of loopback.

Everything is bounded in count and time, and nothing is sent but to 127.0.0.1. The senders come from
127.0.1.0/24 and up, so that the limits in all are met, not only those of one address.
"""

from __future__ import annotations

import asyncio
import time
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


Endings = Counter[Ending]


def source(number: int) -> str:
    """One of the storm's addresses."""
    return f"127.0.1.{1 + number % _ADDRESSES}"


async def half_sent(port: int, count: int, head: bytes, body: int = 0) -> Endings:
    """Send `count` heads and so many bytes of each body, then nothing; see how each ends."""
    gate = asyncio.Semaphore(_AT_ONCE)

    async def one(number: int) -> Ending:
        return await _half(port, source(number), head, body, gate)

    return await _all(count, one)


async def requests_at_once(port: int, count: int, request: Callable[[int], bytes]) -> Endings:
    """Send `count` whole requests at once."""

    async def one(number: int) -> Ending:
        try:
            return _ending(await exchange(port, source(number), request(number)))
        except (OSError, TimeoutError):
            return Ending.CUT

    return await _all(count, one)


async def stream(port: int, rate: float, seconds: float, request: bytes, senders: int) -> Endings:
    """Send `rate` requests a second over connections that are kept, if the server keeps up."""

    async def one(number: int) -> Endings:
        return await _stream(port, source(number), senders / rate, seconds, request)

    return sum((await _each(senders, one)), Endings())


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
            return _ending(await reader.read())
    except TimeoutError:
        return Ending.OPEN
    except OSError:
        return Ending.CUT
    finally:
        if writer is not None:
            writer.transport.abort()


async def _stream(
    port: int, address: str, interval: float, seconds: float, request: bytes
) -> Endings:
    ends, due = Endings(), time.monotonic()
    until = due + seconds
    while due < until:
        try:
            reader, writer = await asyncio.open_connection(_HOST, port, local_addr=(address, 0))
        except OSError:
            ends[Ending.CUT] += 1
            due += interval
            continue
        try:
            while due < until:
                await asyncio.sleep(due - time.monotonic())
                due = max(due + interval, time.monotonic() - 1)
                writer.write(request)
                ends[await _answer(reader)] += 1
        except (OSError, asyncio.IncompleteReadError):
            ends[Ending.CUT] += 1
        finally:
            writer.transport.abort()
    return ends


async def _answer(reader: asyncio.StreamReader) -> Ending:
    head = await reader.readuntil(b"\r\n\r\n")
    _, _, after = head.lower().partition(b"content-length:")
    await reader.readexactly(int(after.partition(b"\r\n")[0] or 0))
    return _ending(head)


def _ending(answer: bytes) -> Ending:
    if not answer:
        return Ending.CUT
    return Ending.ANSWERED if answer.split(b" ", 2)[1].startswith(b"2") else Ending.REFUSED


async def _all(count: int, one: Callable[[int], Coroutine[None, None, Ending]]) -> Endings:
    return Endings(await _each(count, one))


async def _each(count: int, one: Callable[[int], Coroutine[None, None, T]]) -> list[T]:
    async with asyncio.TaskGroup() as tasks:
        sent = [tasks.create_task(one(number), name=f"sender {number}") for number in range(count)]
    return [task.result() for task in sent]
