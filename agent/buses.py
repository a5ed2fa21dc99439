"""The bus as the settings want it: a NATS that somebody runs, or a child in the state directory."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from agent.embedded import embedded_nats, embedded_url
from agent.settings import Settings, StreamsSettings
from bus.jetstream import Bus, BusSettings
from bus.topology import Sizes


@asynccontextmanager
async def open_bus(settings: Settings) -> AsyncIterator[Bus]:
    """Raises CarrierError where NATS is away, ChildNotReadyError where ours does not start."""
    async with AsyncExitStack() as stack:
        given = settings.nats.url
        if given is None:
            url = await stack.enter_async_context(embedded_nats(_folder(settings)))
        else:
            url = given.get_secret_value()
        yield await stack.enter_async_context(Bus.open(bus_settings(settings, url)))


def bus_url(settings: Settings) -> str:
    """Of the bus that the agent with these settings uses; empty where it runs one and is away."""
    given = settings.nats.url
    return given.get_secret_value() if given else embedded_url(_folder(settings))


def bus_settings(settings: Settings, url: str) -> BusSettings:
    nats = settings.nats
    return BusSettings(
        url=url,
        account=settings.account,
        agent=settings.agent,
        credentials_file=_text(nats.credentials_file),
        nkey_seed_file=_text(nats.nkey_file),
        token=_content(nats.token_file),
        user=nats.user,
        password=_content(nats.password_file),
        tls_ca_file=_text(nats.tls_ca),
        tls_cert_file=_text(nats.tls_cert),
        tls_key_file=_text(nats.tls_key),
        replicas=settings.streams.replicas,
        sizes=_sizes(settings.streams),
    )


def _sizes(streams: StreamsSettings) -> Sizes:
    return Sizes(
        asks=int(streams.asks),
        commands=int(streams.commands),
        facts=int(streams.facts),
        reports=int(streams.reports),
        dead_letters=int(streams.dead_letters),
        results=int(streams.results),
    )


def _folder(settings: Settings) -> Path:
    return settings.state_dir / "nats"


def _text(path: Path | None) -> str:
    return str(path) if path else ""


def _content(path: Path | None) -> str:
    return path.read_text().strip() if path else ""
