"""The composition root: it opens the database, builds the parts, serves, and ends in reverse.

    async with open_service(settings) as service:
        print(service.url, service.generated_password)

One TaskGroup holds the long tasks, each with a name; one aiohttp application has all routes. The
service keeps no state between requests but live connections, so any number of replicas may serve
one database.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self

import structlog

from bus.http.budget import Budget, HttpLimits
from bus.http.server import serving
from bus.identity import new_id
from bus.spans import SpanSource, open_spans
from service.auth.passwords import hash_password
from service.bootstrap import bootstrap
from service.dependencies import ServiceDependencies
from service.gateway.task_store import TaskStore
from service.history.batch_follower import FOLLOWERS
from service.key_management.adoption import adopt, open_keys
from service.keys.key_file import KeyFile
from service.live.listener_hub import LISTENERS, ListenerHub
from service.observe.metrics import make_metrics
from service.settings import ServiceSettings, owner_url
from service.store.database import open_engine
from service.store.link_signals import CHANNEL, LinkRegistry
from service.store.migrate import migrate
from service.store.signals import Signals
from service.wiring import metrics_application, public_application, workers

log = structlog.get_logger()

LIMITS = HttpLimits(connections=8192, connections_of_address=512)
"""Streams and links of who has logged in are long, and count for no address."""
_SIGNALS_SECONDS = 30.0
_SPAN_SOURCE = "gitops-service"
"""Name of the service in traces, where OTEL_SERVICE_NAME says no other."""


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
    hash_password: Callable[[str], str] = hash_password
    """Of the first user's password: a tenth of a second, which only tests wish to save."""
    clock: Callable[[], datetime] = now
    _dependencies: ServiceDependencies | None = None
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    @property
    def dependencies(self) -> ServiceDependencies:
        if self._dependencies is None:
            raise RuntimeError("the service is not open")
        return self._dependencies

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
        if settings.migrate:
            await asyncio.to_thread(migrate, owner_url(settings))
        keys = open_keys(settings.key_file, generate=settings.key_generate)
        self._dependencies = dependencies = await _build(stack, settings, keys, self.clock)
        await adopt(dependencies.engine, keys, self.clock())
        self.generated_password = await bootstrap(
            dependencies.engine, self.settings, self.hash_password
        )
        owned = await stack.enter_async_context(_Owned())
        owned.start(dependencies.signals.run(), "signals")
        async with asyncio.timeout(_SIGNALS_SECONDS):
            await dependencies.signals.listening.wait()
        for name, work in workers(dependencies):
            owned.start(work, name)
        await self._serve(stack, dependencies)

    async def _serve(self, stack: AsyncExitStack, dependencies: ServiceDependencies) -> None:
        settings = self.settings
        metrics = serving(metrics_application(dependencies), settings.host, settings.metrics_port)
        self.metrics_port = await stack.enter_async_context(metrics)
        public = serving(
            public_application(dependencies),
            settings.host,
            settings.port,
            limits=LIMITS,
            trusted=settings.trusted_proxies,
            registry=dependencies.metrics.registry,
        )
        self.port = await stack.enter_async_context(public)
        log.info("service open", host=settings.host, port=self.port, replica=dependencies.replica)


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
    stack: AsyncExitStack,
    settings: ServiceSettings,
    keys: KeyFile,
    clock: Callable[[], datetime],
) -> ServiceDependencies:
    url = settings.database_url.get_secret_value()
    opened = open_engine(url, settings.database_connections, keys=keys)
    engine = await stack.enter_async_context(opened)
    replica, metrics = new_id(), make_metrics()
    source = SpanSource(name=_SPAN_SOURCE, instance=replica)
    spans = open_spans(os.environ, source, metrics.spans_dropped)
    stack.push_async_callback(asyncio.to_thread, spans.close)
    signals, link_registry = Signals(url=url), LinkRegistry()
    stack.enter_context(signals.subscribed(CHANNEL, link_registry.receive))
    return ServiceDependencies(
        settings=settings,
        engine=engine,
        keys=keys,
        signals=signals,
        clock=clock,
        link_registry=link_registry,
        tasks=TaskStore(engine=engine, signals=signals, clock=clock, spans=spans),
        replica=replica,
        followers=FOLLOWERS,
        hub=ListenerHub(slots=Budget(total=LISTENERS, share=settings.listeners_per_principal)),
        metrics=metrics,
        spans=spans,
    )
