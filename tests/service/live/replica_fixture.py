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
from bus.http.budget import HttpLimits
from bus.http.refusals import prepare_refusals
from service.api import events, history
from service.dependencies import ServiceDependencies
from service.gateway.task_store import TaskStore
from service.lifecycle import now
from service.live.change_feed import ChangeFeed
from service.live.listener_hub import ListenerHub, ListenerTerms
from service.store.changes import FeedChange, note_all
from service.store.database import open_engine
from service.store.link_signals import LinkRegistry
from service.store.signals import Signals
from service.wiring import provide_api
from tests.service.api.api_fixture import ApiFixture
from tests.service.service_fixture import key_file, settings

_WITHIN = 90.0


@dataclass
class ServiceReplica:
    dependencies: ServiceDependencies
    url: str


@asynccontextmanager
async def replica(database_url: str) -> AsyncIterator[ServiceReplica]:
    signals, keys = Signals(url=database_url), key_file()
    async with open_engine(database_url, 8, keys=keys) as engine, asyncio.TaskGroup() as group:
        dependencies = ServiceDependencies(
            settings=settings(database_url),
            engine=engine,
            keys=keys,
            signals=signals,
            clock=now,
            hub=ListenerHub(terms=ListenerTerms(beat=0.5)),
            link_registry=LinkRegistry(),
            tasks=TaskStore(engine=engine, signals=signals, clock=now),
            replica="replica",
        )
        feed = ChangeFeed(engine=engine, signals=signals, hub=dependencies.hub, clock=now)
        owned = [group.create_task(it) for it in (signals.run(), feed.run())]
        app = web.Application()
        prepare_bodies(app, HttpLimits())
        prepare_refusals(app)
        endpoints = provide_api(app, dependencies)
        rows = (*events.ENDPOINTS, *history.ENDPOINTS)
        app.router.add_routes([endpoints.route(it) for it in rows])
        async with asyncio.timeout(_WITHIN):
            await signals.listening.wait()
        async with TestServer(app) as server:
            yield ServiceReplica(dependencies, f"http://{server.host}:{server.port}/api/v1")
        for task in owned:
            task.cancel()


@dataclass
class ReceivedEvent:
    name: str
    id: int | None
    data: dict[str, Any]


@dataclass
class EventSubscriber:
    response: aiohttp.ClientResponse
    last: int = 0
    _lines: list[str] = field(default_factory=list)

    async def next(self) -> ReceivedEvent:
        """The next event; comments are passed over. Raises EOFError at the end."""
        async with asyncio.timeout(_WITHIN):
            while True:
                block = await self._block()
                if "event" in block:
                    event = _received_event(block)
                    self.last = event.id or self.last
                    return event

    async def take(self, count: int) -> list[ReceivedEvent]:
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
) -> AsyncIterator[EventSubscriber]:
    """After its `hello`."""
    headers = {"Authorization": f"Bearer {token}"}
    headers |= {} if last is None else {"Last-Event-ID": str(last)}
    timeout = aiohttp.ClientTimeout(total=None, sock_read=_WITHIN)
    async with (
        aiohttp.ClientSession(timeout=timeout, read_bufsize=1 << 20) as http,
        http.get(f"{url}/events{query}", headers=headers) as response,
    ):
        assert response.status == 200, await response.text()
        subscriber = EventSubscriber(response)
        assert (await subscriber.next()).name == "hello"
        yield subscriber


async def note_changes(api: ApiFixture, *found: FeedChange) -> None:
    async with api.engine.begin() as connection:
        await note_all(connection, api.account, found)


def changed(subject: str, project: str = "default", agent: str = "", **body: Any) -> FeedChange:
    return FeedChange(
        type="application.changed", subject=subject, project=project, agent_id=agent, body=body
    )


def _received_event(block: Mapping[str, str]) -> ReceivedEvent:
    number = int(block["id"]) if "id" in block else None
    return ReceivedEvent(block["event"], number, json.loads(block["data"]))
