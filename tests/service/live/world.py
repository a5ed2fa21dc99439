"""Replicas of the service on one database, and a subscriber that reads server-sent events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from aiohttp import web
from aiohttp.test_utils import TestServer

from bus.http.body import prepare_bodies
from bus.http.limits import HttpLimits
from bus.http.refusals import prepare_refusals
from service.api.serve import route
from service.api.tools import Tools
from service.app import now
from service.gateway.switchboard import Switchboard
from service.gateway.tasks import Tasks
from service.history import endpoints as history
from service.live import endpoints as live
from service.live.feed import Feed
from service.live.hub import Hub, Pace
from service.parts import Parts
from service.store.changes import Change, note_all
from service.store.database import open_engine
from service.store.signals import Signals
from tests.service.api.world import World
from tests.service.world import key_file, settings

_WITHIN = 20.0


@dataclass
class Replica:
    parts: Parts
    url: str


@asynccontextmanager
async def replica(database_url: str) -> AsyncIterator[Replica]:
    signals, keys = Signals(url=database_url), key_file()
    async with open_engine(database_url, 8, keys=keys) as engine, asyncio.TaskGroup() as group:
        parts = Parts(
            settings=settings(database_url),
            engine=engine,
            keys=keys,
            signals=signals,
            clock=now,
            hub=Hub(pace=Pace(beat=0.5)),
            switchboard=Switchboard(),
            tasks=Tasks(engine=engine, signals=signals, clock=now),
            replica="replica",
        )
        feed = Feed(engine=engine, signals=signals, hub=parts.hub, clock=now)
        owned = [group.create_task(it) for it in (signals.run(), feed.run())]
        app = web.Application()
        prepare_bodies(app, HttpLimits())
        prepare_refusals(app)
        tools = Tools.of(parts)
        rows = (*live.ENDPOINTS, *history.ENDPOINTS)
        app.router.add_routes([route(tools, it) for it in rows])
        async with asyncio.timeout(_WITHIN):
            await signals.listening.wait()
        async with TestServer(app) as server:
            yield Replica(parts, f"http://{server.host}:{server.port}/api/v1")
        for task in owned:
            task.cancel()


@dataclass
class Told:
    name: str
    id: int | None
    data: dict[str, Any]


@dataclass
class Subscriber:
    response: aiohttp.ClientResponse
    last: int = 0
    _lines: list[str] = field(default_factory=list)

    async def next(self) -> Told:
        """The next event; comments are passed over. Raises EOFError at the end."""
        async with asyncio.timeout(_WITHIN):
            while True:
                block = await self._block()
                if "event" in block:
                    told = _told(block)
                    self.last = told.id or self.last
                    return told

    async def take(self, count: int) -> list[Told]:
        return [await self.next() for _ in range(count)]

    async def until_beat(self) -> None:
        """Fails where an event comes before it."""
        async with asyncio.timeout(_WITHIN):
            assert "event" not in await self._block()

    async def _block(self) -> dict[str, str]:
        found: dict[str, str] = {}
        while True:
            line = (await self.response.content.readline()).decode()
            if not line:
                raise EOFError
            if line == "\n":
                return found
            name, _, value = line.rstrip("\n").partition(": ")
            found[name] = value


@asynccontextmanager
async def subscribed(
    url: str, token: str, query: str = "", last: int | None = None
) -> AsyncIterator[Subscriber]:
    """After its `hello`."""
    headers = {"Authorization": f"Bearer {token}"}
    headers |= {} if last is None else {"Last-Event-ID": str(last)}
    timeout = aiohttp.ClientTimeout(total=None, sock_read=_WITHIN)
    async with (
        aiohttp.ClientSession(timeout=timeout, read_bufsize=1 << 20) as http,
        http.get(f"{url}/events{query}", headers=headers) as response,
    ):
        assert response.status == 200, await response.text()
        subscriber = Subscriber(response)
        assert (await subscriber.next()).name == "hello"
        yield subscriber


async def tell(world: World, *found: Change) -> None:
    async with world.engine.begin() as connection:
        await note_all(connection, world.account, found)


def changed(subject: str, project: str = "default", agent: str = "", **body: Any) -> Change:
    return Change(
        type="application.changed", subject=subject, project=project, agent_id=agent, body=body
    )


def _told(block: Mapping[str, str]) -> Told:
    number = int(block["id"]) if "id" in block else None
    return Told(block["event"], number, json.loads(block["data"]))
