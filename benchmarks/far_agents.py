"""N agents with M applications each, and one browser, in a process of their own.

Started by `far_load`: says one JSON line when all states are stored for the first time (a burst),
and one after a while of steady reports. The moment of sending travels as the application's
revision, so the browser knows how old what it hears is. Enrolment tokens come by the environment.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import msgspec
import uvloop

from bus.link import Ack, Item, Items
from tests.service.client import Connection, Identity, Keys, Outbox, application, connect, enrol

_WINDOW, _FRAME = 512, 64
_SECONDS = 20.0
_PER_SECOND = 2.0
"""Reports of one agent in the steady round."""
_MARK = b'"revision":"at-'
_LINE = 1 << 20


class Burst(msgspec.Struct, frozen=True, kw_only=True):
    reports: int
    seconds: float


class Steady(msgspec.Struct, frozen=True, kw_only=True):
    reports: int
    heard: int
    seconds: float
    p50_ms: float
    p99_ms: float
    ack_p99_ms: float


@dataclass(slots=True)
class Agent:
    identity: Identity
    outbox: Outbox = field(default_factory=Outbox)
    acked: list[float] = field(default_factory=list)
    """Seconds from sending to the acknowledgement."""

    async def everything(self, link: Connection, count: int) -> None:
        await deliver(link, [self.outbox.state(application(f"app-{n}")) for n in range(count)])

    async def steadily(self, link: Connection, count: int, delay: float) -> None:
        await asyncio.sleep(delay)
        for number in range(int(_SECONDS * _PER_SECOND)):
            now = time.time()
            body = application(f"app-{number % count}", revision=f"at-{now}")
            await link.put([self.outbox.state(body)])
            self.acked.append(time.time() - now)
            await asyncio.sleep(max(0.0, 1 / _PER_SECOND - (time.time() - now)))


async def deliver(link: Connection, items: Sequence[Item]) -> None:
    """With as many under way as the window allows; returns when all are acknowledged."""
    parts = deque(tuple(items[start : start + _FRAME]) for start in range(0, len(items), _FRAME))
    acked, last = items[0].sequence - 1, items[-1].sequence
    while acked < last:
        while parts and parts[0][-1].sequence - acked <= _WINDOW:
            await link.send(Items(items=parts.popleft()))
        acked = (await link.until(Ack)).through


async def crowd(url: str, tokens: Sequence[str], viewer: str, applications: int) -> None:
    agents = [Agent(await enrol(url, token, Keys(), f"c-{token[-6:]}")) for token in tokens]
    lags: list[float] = []
    async with asyncio.TaskGroup() as tasks:
        browser = tasks.create_task(_browse(url, viewer, lags), name="browser")
        begin, go_on = asyncio.Barrier(len(agents) + 1), asyncio.Barrier(len(agents) + 1)
        lives = [
            tasks.create_task(_live(agent, applications, (begin, go_on), n / len(agents)))
            for n, agent in enumerate(agents)
        ]
        await begin.wait()
        began = time.time()
        await go_on.wait()
        _say(Burst(reports=len(agents) * applications, seconds=time.time() - began))
        began = time.time()
        await asyncio.wait(lives)
        seconds = time.time() - began
        await asyncio.sleep(2.0)
        browser.cancel()
    waits = sorted(one for agent in agents for one in agent.acked)
    lags.sort()
    _say(
        Steady(
            reports=len(waits),
            heard=len(lags),
            seconds=seconds,
            p50_ms=lags[len(lags) // 2] * 1000,
            p99_ms=lags[len(lags) * 99 // 100] * 1000,
            ack_p99_ms=waits[len(waits) * 99 // 100] * 1000,
        )
    )


async def _live(
    agent: Agent, count: int, gates: tuple[asyncio.Barrier, asyncio.Barrier], delay: float
) -> None:
    begin, go_on = gates
    async with connect(agent.identity) as link:
        await link.hello(agent.identity, agent.outbox.epoch)
        await begin.wait()
        await agent.everything(link, count)
        await go_on.wait()
        await agent.steadily(link, count, delay)


async def _browse(url: str, viewer: str, lags: list[float]) -> None:
    place = urlsplit(url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port, limit=_LINE)
    lines = ("GET /api/v1/events HTTP/1.1", f"Host: {place.netloc}")
    asked = "\r\n".join((*lines, f"Authorization: Bearer {viewer}", "", ""))
    writer.write(asked.encode())
    try:
        while line := await reader.readline():
            _, found, after = line.partition(_MARK)
            if found:
                lags.append(time.time() - float(after[: after.index(b'"')]))
    finally:
        writer.close()


def _say(what: msgspec.Struct) -> None:
    print(msgspec.json.encode(what).decode(), flush=True)


if __name__ == "__main__":
    address, many = sys.argv[1:]
    given = os.environ["FAR_LOAD_TOKENS"].split(",")
    uvloop.run(crowd(address, given, os.environ["FAR_LOAD_VIEWER"], int(many)))
