"""NatsConnection reaches a NATS by its settings, and tells when that is lost and when it is back.

nats-py reconnects and subscribes again by itself, but does not know which requests were under way.
A component with pending requests therefore adds itself to `on_lost` and `on_back`.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import nats.errors
import structlog
from nats.js import JetStreamContext

from bus.carrier import CarrierError
from bus.jetstream.nats_client import NatsClient, ended_within
from bus.logins import BusLogin, inbox_prefix
from bus.signature import CommandKey
from bus.spans.span import Sampler
from bus.subjects import AgentScope
from bus.topology import SIZES, Sizes


@dataclass(frozen=True, slots=True, kw_only=True)
class BusSettings:
    """At most one of credentials file, nkey seed (or its file), token and user is set."""

    url: str
    """One address or several with commas: `nats://`, `tls://`, `ws://` or `wss://`."""
    account: str = "default"
    agent: str = "default"
    credentials_file: str = ""
    nkey_seed_file: str = ""
    nkey_seed: str = field(default="", repr=False)
    login: BusLogin = BusLogin.AGENT
    """Names the subjects of the server's answers; the server decides the permissions."""
    token: str = field(default="", repr=False)
    user: str = ""
    password: str = field(default="", repr=False)
    tls_ca_file: str = ""
    tls_cert_file: str = ""
    tls_key_file: str = ""
    command_key: CommandKey = field(default_factory=CommandKey)
    """Signs the commands that are published here, and verifies those that are dispatched."""
    sampler: Sampler = field(default_factory=Sampler)
    replicas: int = 1
    """Copies of every stream: 3 where NATS is a cluster of three."""
    sizes: Sizes = SIZES
    connect_seconds: float = 30.0
    """How long `open` waits for the first connection."""
    close_seconds: float = 5.0
    """How long `close` waits for the server to take what was published, and then for its end."""
    publish_seconds: float = 120.0
    """How long a publish waits for the server, a lost connection included."""
    ack_wait: float = 30.0
    """Seconds without a sign of life after which a delivery is made again."""
    inbox_limit: int = 256
    """Deliveries of one route that are taken and not settled, at most."""

    @property
    def scope(self) -> AgentScope:
        return AgentScope(self.account, self.agent)

    @property
    def inbox_prefix(self) -> str:
        return inbox_prefix(self.scope, self.login)

    @property
    def servers(self) -> list[str]:
        return [part.strip() for part in self.url.split(",") if part.strip()]

    @property
    def hosts(self) -> str:
        """The servers without what may be secret in a URL: for logs and errors."""
        return ", ".join(urlsplit(server).netloc.rpartition("@")[2] for server in self.servers)

    def tls(self) -> ssl.SSLContext | None:
        """Make the TLS context; None where the URL's scheme says all."""
        if not (self.tls_ca_file or self.tls_cert_file):
            return None
        context = ssl.create_default_context(cafile=self.tls_ca_file or None)
        if self.tls_cert_file:
            context.load_cert_chain(self.tls_cert_file, self.tls_key_file or None)
        return context


log = structlog.get_logger()

_RECONNECT_SECONDS = 0.25
_PING_SECONDS = 10


class CarrierUnreachableError(CarrierError):
    """No server answered, or the server refused the login."""


@dataclass(slots=True)
class NatsConnection:
    settings: BusSettings
    client: NatsClient = field(default_factory=NatsClient)
    on_lost: list[Callable[[], None]] = field(default_factory=list)
    on_back: list[Callable[[], Awaitable[None]]] = field(default_factory=list)
    _up: asyncio.Event = field(default_factory=asyncio.Event)
    _closing: bool = False

    @property
    def is_connected(self) -> bool:
        return self._up.is_set()

    @property
    def is_closed(self) -> bool:
        """Whether the connection ended for good, e.g. because credentials were withdrawn."""
        return bool(self.client.is_closed)

    @property
    def jetstream(self) -> JetStreamContext:
        return self.client.jetstream()

    async def up(self) -> None:
        """Wait until there is a connection."""
        await self._up.wait()

    def forget(self, back: Callable[[], Awaitable[None]]) -> None:
        if back in self.on_back:
            self.on_back.remove(back)

    async def open(self) -> None:
        settings = self.settings
        try:
            await ended_within(self._connect(), settings.connect_seconds)
        except (TimeoutError, OSError, nats.errors.Error) as error:
            cause = self.client.last_error or error
            raise CarrierUnreachableError(
                f"NATS at {settings.hosts} could not be reached within "
                f"{settings.connect_seconds:g} s: {type(cause).__name__} {cause}"
            ) from error
        self._up.set()

    async def close(self) -> None:
        """Flush what was published, if the server is reachable, and close."""
        self._closing = True
        seconds = self.settings.close_seconds
        if self.is_connected:
            try:
                async with asyncio.timeout(seconds):
                    await self.client.flush()
            except (TimeoutError, nats.errors.Error) as error:
                log.warning("bus closed unflushed", hosts=self.settings.hosts, error=repr(error))
        try:
            async with asyncio.timeout(seconds):
                await self.client.close()
        except TimeoutError:
            self.client.abort()
            log.warning("bus cut off: the server took no end", hosts=self.settings.hosts)

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
async def connected(settings: BusSettings) -> AsyncIterator[NatsConnection]:
    connection = NatsConnection(settings)
    try:
        await connection.open()
        yield connection
    finally:
        await connection.close()
