"""Connection: one NATS connection that says when it is lost and when it is back.

nats-py reconnects and subscribes again by itself; what it cannot know is what was under way. So
whoever has something under way asks for `lost` and `back` to be called.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import nats.errors
import structlog
from nats.js import JetStreamContext

from bus.carrier import CarrierError
from bus.jetstream.heeding import HeedingClient
from bus.jetstream.settings import BusSettings

log = structlog.get_logger()

_RECONNECT_SECONDS = 0.25
_PING_SECONDS = 10
_CLOSE_SECONDS = 5.0


class CarrierUnreachableError(CarrierError):
    """No server answered, or it refused us."""


@dataclass(slots=True)
class Connection:
    settings: BusSettings
    client: HeedingClient = field(default_factory=HeedingClient)
    on_lost: list[Callable[[], None]] = field(default_factory=list)
    on_back: list[Callable[[], Awaitable[None]]] = field(default_factory=list)
    _up: asyncio.Event = field(default_factory=asyncio.Event)
    _closing: bool = False

    @property
    def is_connected(self) -> bool:
        return self._up.is_set()

    @property
    def is_closed(self) -> bool:
        """For good: the server refused us after all, e.g. because credentials were withdrawn."""
        return bool(self.client.is_closed)

    @property
    def jetstream(self) -> JetStreamContext:
        return self.client.jetstream()

    async def up(self) -> None:
        """Until there is a connection."""
        await self._up.wait()

    def forget(self, back: Callable[[], Awaitable[None]]) -> None:
        if back in self.on_back:
            self.on_back.remove(back)

    async def open(self) -> None:
        settings = self.settings
        try:
            async with asyncio.timeout(settings.connect_seconds):
                await self._connect()
        except (TimeoutError, OSError, nats.errors.Error) as error:
            cause = self.client.last_error or error
            raise CarrierUnreachableError(
                f"NATS at {settings.hosts} could not be reached within "
                f"{settings.connect_seconds:g} s: {type(cause).__name__} {cause}"
            ) from error
        self._up.set()

    async def close(self) -> None:
        """Everything said so far reaches the server, if there is one."""
        self._closing = True
        if self.is_connected:
            try:
                async with asyncio.timeout(_CLOSE_SECONDS):
                    await self.client.flush()
            except (TimeoutError, nats.errors.Error) as error:
                log.warning("bus closed unflushed", hosts=self.settings.hosts, error=repr(error))
        await self.client.close()

    async def _connect(self) -> None:
        settings = self.settings
        await self.client.connect(
            settings.servers,
            name=f"gitops {settings.account}/{settings.agent}",
            error_cb=self._on_error,
            disconnected_cb=self._on_lost,
            reconnected_cb=self._on_back,
            max_reconnect_attempts=-1,
            reconnect_time_wait=_RECONNECT_SECONDS,  # type: ignore[arg-type] # any number
            ping_interval=_PING_SECONDS,
            tls=settings.tls(),
            user=settings.user or None,
            password=settings.password or None,
            token=settings.token or None,
            user_credentials=settings.credentials_file or None,
            nkeys_seed=settings.nkey_seed_file or None,
            nkeys_seed_str=settings.nkey_seed or None,
            inbox_prefix=settings.inbox_prefix,
        )

    async def _on_error(self, error: Exception) -> None:
        if self.is_connected and not self._closing:
            log.warning("bus error", hosts=self.settings.hosts, error=repr(error))

    async def _on_lost(self) -> None:
        if self._closing or not self._up.is_set():
            return
        self._up.clear()
        log.warning("bus lost", hosts=self.settings.hosts)
        for call in self.on_lost:
            call()

    async def _on_back(self) -> None:
        self._up.set()
        log.info("bus back", hosts=self.settings.hosts)
        for call in tuple(self.on_back):
            await call()


@asynccontextmanager
async def connected(settings: BusSettings) -> AsyncIterator[Connection]:
    connection = Connection(settings)
    try:
        await connection.open()
        yield connection
    finally:
        await connection.close()
