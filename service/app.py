"""The composition root: opens the database, builds the rooms, serves, and ends in reverse order.

    async with open_service(settings) as service:
        print(service.url, service.generated_password)

One TaskGroup holds the long tasks, each with a name; one aiohttp application has the routes of all
rooms. The service keeps no state of its own between requests but live connections, so any number
of replicas may serve one database.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self

import structlog

from bus.http.budget import Budget
from bus.http.limits import HttpLimits
from bus.http.server import serving
from bus.ids import new_id
from service.bootstrap import bootstrap
from service.gateway.links import CHANNEL
from service.gateway.switchboard import Switchboard
from service.gateway.tasks import Tasks
from service.keys.adoption import adopt, open_keys
from service.keys.key_file import KeyFile
from service.live.hub import LISTENERS, Hub
from service.parts import Parts
from service.rooms import application, metrics_application, workers
from service.settings import ServiceSettings, owner_url
from service.store.database import open_engine
from service.store.migrate import migrate
from service.store.signals import Signals

log = structlog.get_logger()

LIMITS = HttpLimits(connections=8192, connections_of_address=512)
"""Streams and links of who has logged in are long, and count for no address."""
_SIGNALS_SECONDS = 30.0


def now() -> datetime:
    return datetime.now(UTC)


@dataclass(slots=True, kw_only=True)
class Service:
    """Running between `async with` and its end."""

    settings: ServiceSettings
    port: int = 0
    metrics_port: int = 0
    """Of health and metrics."""
    generated_password: str = ""
    """Of the first user, where this start made it: show it once."""
    _parts: Parts | None = None
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    @property
    def parts(self) -> Parts:
        if self._parts is None:
            raise RuntimeError("the service is not open")
        return self._parts

    @property
    def url(self) -> str:
        return self.settings.public_url or f"http://{self.settings.host}:{self.port}"

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            await self._open(stack)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._stack.__aexit__(kind, error, trace)

    async def _open(self, stack: AsyncExitStack) -> None:
        settings = self.settings
        url = settings.database_url.get_secret_value()
        if settings.migrate:
            await asyncio.to_thread(migrate, owner_url(settings))
        keys = open_keys(settings.key_file, generate=settings.key_generate)
        self._parts = parts = await _build(stack, settings, url, keys)
        await adopt(parts.engine, keys, now())
        self.generated_password = await bootstrap(parts.engine, self.settings)
        owned = await stack.enter_async_context(_Owned())
        owned.start(parts.signals.run(), "signals")
        async with asyncio.timeout(_SIGNALS_SECONDS):
            await parts.signals.listening.wait()
        for name, work in workers(parts):
            owned.start(work, name)
        await self._serve(stack, parts)

    async def _serve(self, stack: AsyncExitStack, parts: Parts) -> None:
        settings = self.settings
        metrics = serving(metrics_application(parts), settings.host, settings.metrics_port)
        self.metrics_port = await stack.enter_async_context(metrics)
        public = serving(
            application(parts),
            settings.host,
            settings.port,
            limits=LIMITS,
            trusted=settings.trusted_proxies,
            registry=parts.registry,
        )
        self.port = await stack.enter_async_context(public)
        log.info("service open", host=settings.host, port=self.port, replica=parts.replica)


def open_service(settings: ServiceSettings) -> Service:
    return Service(settings=settings)


async def run(settings: ServiceSettings, stop: asyncio.Event) -> None:
    """Serve until `stop` is set."""
    async with open_service(settings):
        await stop.wait()


class _Owned:
    """The TaskGroup of the long tasks: they end when the service does."""

    def __init__(self) -> None:
        self._group = asyncio.TaskGroup()
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, work: Coroutine[Any, Any, None], name: str) -> None:
        self._tasks.append(self._group.create_task(work, name=name))

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for task in self._tasks:
            task.cancel()
        await self._group.__aexit__(None, None, None)  # the caller's own error is not ours to wrap


async def _build(
    stack: AsyncExitStack, settings: ServiceSettings, url: str, keys: KeyFile
) -> Parts:
    opened = open_engine(url, settings.database_connections, keys=keys)
    engine = await stack.enter_async_context(opened)
    signals, switchboard = Signals(url=url), Switchboard()
    stack.enter_context(signals.hearing(CHANNEL, switchboard.hear))
    return Parts(
        settings=settings,
        engine=engine,
        keys=keys,
        signals=signals,
        clock=now,
        switchboard=switchboard,
        tasks=Tasks(engine=engine, signals=signals, clock=now),
        replica=new_id(),
        hub=Hub(places=Budget(total=LISTENERS, share=settings.listeners_per_principal)),
    )
