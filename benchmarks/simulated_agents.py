"""N agents with M applications each, and one browser, in a process of their own.

Started by `service_load`: prints one JSON line when all states are stored for the first time (a
burst), and one after a while of steady reports. The moment of sending travels as the application's
revision, so the browser knows how old what it hears is. Enrolment tokens come by the environment.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import msgspec
import uvloop

from bus.link import Ack, Items, LinkItem
from tests.service.fake_agent import (
    AgentConnection,
    AgentIdentity,
    AgentKeyPair,
    FakeOutbox,
    application,
    connect,
    enrol,
)

_WINDOW, _FRAME = 512, 64
_SECONDS = 20.0
_PER_SECOND = 2.0
"""Reports of one agent in the steady round."""
_MARK = b'"revision":"at-'
_LINE = 1 << 20
_IDLE_SECONDS = 10.0


class Burst(msgspec.Struct, frozen=True, kw_only=True):
    reports: int
    seconds: float
    """Until all were acknowledged."""
    heard_seconds: float
    """Until the browser had heard of all."""


class Steady(msgspec.Struct, frozen=True, kw_only=True):
    reports: int
    heard: int
    seconds: float
    p50_ms: float
    p99_ms: float
    ack_p99_ms: float


@dataclass(slots=True)
class SimulatedAgent:
    identity: AgentIdentity
    outbox: FakeOutbox = field(default_factory=FakeOutbox)
    acked: list[float] = field(default_factory=list)
    """Seconds from sending to the acknowledgement."""

    async def everything(self, link: AgentConnection, count: int) -> None:
        stamp = f"at-{time.time()}"
        bodies = [application(f"app-{n}", revision=stamp) for n in range(count)]
        await deliver(link, [self.outbox.state(body) for body in bodies])

    async def steadily(self, link: AgentConnection, count: int, delay: float) -> None:
        await asyncio.sleep(delay)
        for number in range(int(_SECONDS * _PER_SECOND)):
            now = time.time()
            body = application(f"app-{number % count}", revision=f"at-{now}")
            await link.put([self.outbox.state(body)])
            self.acked.append(time.time() - now)
            await asyncio.sleep(max(0.0, 1 / _PER_SECOND - (time.time() - now)))


class Gates:
    """Between the rounds."""

    def __init__(self, agents: int) -> None:
        self.connected = asyncio.Barrier(agents + 1)
        self.stored = asyncio.Barrier(agents + 1)
        self.steady = asyncio.Event()


@dataclass(slots=True)
class Browser:
    _lags: list[float] = field(default_factory=list)
    _heard: asyncio.Event = field(default_factory=asyncio.Event)

    async def listen(self, url: str, viewer: str) -> None:
        place = urlsplit(url)
        reader, writer = await asyncio.open_connection(place.hostname, place.port, limit=_LINE)
        lines = ("GET /api/v1/events HTTP/1.1", f"Host: {place.netloc}")
        asked = "\r\n".join((*lines, f"Authorization: Bearer {viewer}", "", ""))
        writer.write(asked.encode())
        try:
            while line := await reader.readline():
                _, found, after = line.partition(_MARK)
                if found:
                    self._lags.append(time.time() - float(after[: after.index(b'"')]))
                    self._heard.set()
        finally:
            writer.close()

    async def take(self, count: int) -> Sequence[float]:
        """So many lags in order, or fewer where no more come."""
        with suppress(TimeoutError):
            while len(self._lags) < count:
                self._heard.clear()
                async with asyncio.timeout(_IDLE_SECONDS):
                    await self._heard.wait()
        found, self._lags = sorted(self._lags), []
        return found


async def deliver(link: AgentConnection, items: Sequence[LinkItem]) -> None:
    """With as many under way as the window allows; returns when all are acknowledged."""
    parts = deque(tuple(items[start : start + _FRAME]) for start in range(0, len(items), _FRAME))
    acked, last = items[0].sequence - 1, items[-1].sequence
    while acked < last:
        while parts and parts[0][-1].sequence - acked <= _WINDOW:
            await link.send(Items(items=parts.popleft()))
        acked = (await link.until(Ack)).through


async def crowd(url: str, tokens: Sequence[str], viewer: str, applications: int) -> None:
    agents = [
        SimulatedAgent(await enrol(url, token, AgentKeyPair(), f"c-{token[-6:]}"))
        for token in tokens
    ]
    browser, gates = Browser(), Gates(len(agents))
    async with asyncio.TaskGroup() as tasks:
        listening = tasks.create_task(browser.listen(url, viewer), name="browser")
        lives = [
            tasks.create_task(_live(agent, applications, gates, n / len(agents)))
            for n, agent in enumerate(agents)
        ]
        _print_line(await _burst(gates, browser, len(agents) * applications))
        gates.steady.set()
        began = time.time()
        await asyncio.wait(lives)
        seconds = time.time() - began
        waits = sorted(one for agent in agents for one in agent.acked)
        heard = await browser.take(len(waits))
        listening.cancel()
    _print_line(
        Steady(
            reports=len(waits),
            heard=len(heard),
            seconds=seconds,
            p50_ms=_part(heard, 50),
            p99_ms=_part(heard, 99),
            ack_p99_ms=_part(waits, 99),
        )
    )


async def _burst(gates: Gates, browser: Browser, reports: int) -> Burst:
    """Over when the browser has heard it all: it is not to be in the way of what follows."""
    await gates.connected.wait()
    began = time.time()
    await gates.stored.wait()
    stored = time.time()
    await browser.take(reports)
    return Burst(reports=reports, seconds=stored - began, heard_seconds=time.time() - began)


async def _live(agent: SimulatedAgent, count: int, gates: Gates, delay: float) -> None:
    async with connect(agent.identity) as link:
        await link.hello(agent.identity, agent.outbox.epoch)
        await gates.connected.wait()
        await agent.everything(link, count)
        await gates.stored.wait()
        await gates.steady.wait()
        await agent.steadily(link, count, delay)


def _part(ordered: Sequence[float], percent: int) -> float:
    return ordered[len(ordered) * percent // 100] * 1000


def _print_line(what: msgspec.Struct) -> None:
    print(msgspec.json.encode(what).decode(), flush=True)


if __name__ == "__main__":
    address, many = sys.argv[1:]
    tokens = os.environ["LOAD_TOKENS"].split(",")
    uvloop.run(crowd(address, tokens, os.environ["FAR_LOAD_VIEWER"], int(many)))
