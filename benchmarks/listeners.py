"""N subscribers of one service in a process of their own: they only read and look at the clock.

Started by `fan_out`: says `ready` when all are connected, then one JSON line for each round. Tokens
come by the environment. Raw sockets, because a client library would cost more than the service.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from typing import cast
from urllib.parse import urlsplit

import msgspec
import uvloop

_MARK = b'"sentAt":'
_IDLE_SECONDS = 60.0


class Round(msgspec.Struct, frozen=True, kw_only=True):
    received: int
    seconds: float
    """From the first message's sending to the last one's arrival."""
    p50_ms: float
    p99_ms: float


class Crowd:
    def __init__(self) -> None:
        self.connected = 0
        self.lags: list[float] = []
        self.first = float("inf")
        self.last = 0.0
        self.changed = asyncio.Event()

    def hear(self, sent: float) -> None:
        now = time.time()
        self.lags.append(now - sent)
        self.first, self.last = min(self.first, sent), now
        self.changed.set()

    async def until(self, connected: int = 0, received: int = 0) -> None:
        while self.connected < connected or len(self.lags) < received:
            self.changed.clear()
            async with asyncio.timeout(_IDLE_SECONDS):
                await self.changed.wait()

    def take(self) -> Round:
        lags, seconds = sorted(self.lags), self.last - self.first
        self.lags, self.first, self.last = [], float("inf"), 0.0
        return Round(
            received=len(lags),
            seconds=seconds,
            p50_ms=lags[len(lags) // 2] * 1000,
            p99_ms=lags[len(lags) * 99 // 100] * 1000,
        )


class Subscriber(asyncio.Protocol):
    def __init__(self, crowd: Crowd, request: bytes) -> None:
        self.crowd = crowd
        self.request = request
        self.rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        cast("asyncio.WriteTransport", transport).write(self.request)

    def data_received(self, data: bytes) -> None:
        *blocks, self.rest = (self.rest + data).split(b"\n\n")
        for block in blocks:
            _, found, after = block.partition(_MARK)
            if found:
                self.crowd.hear(float(after[: after.index(b"}")].split(b",")[0]))
            elif b"event: hello" in block:
                self.crowd.connected += 1
                self.crowd.changed.set()


async def listen(url: str, tokens: list[str], count: int, rounds: list[int]) -> None:
    """`rounds`: how many messages each one has."""
    crowd, loop, place = Crowd(), asyncio.get_running_loop(), urlsplit(url)
    for number in range(count):
        request = _request(place.netloc, tokens[number % len(tokens)])
        await loop.create_connection(
            lambda asked=request: Subscriber(crowd, asked),  # type: ignore[misc]
            place.hostname or "",
            place.port or 80,
        )
        await crowd.until(connected=number + 1)
    print("ready", flush=True)
    for messages in rounds:
        await crowd.until(received=messages * count)
        print(msgspec.json.encode(crowd.take()).decode(), flush=True)


def _request(host: str, token: str) -> bytes:
    lines = ("GET /api/v1/events HTTP/1.1", f"Host: {host}", f"Authorization: Bearer {token}")
    return "\r\n".join((*lines, "", "")).encode()


if __name__ == "__main__":
    address, many, *messages = sys.argv[1:]
    secrets = os.environ["FAN_OUT_TOKENS"].split(",")
    uvloop.run(listen(address, secrets, int(many), [int(it) for it in messages]))
