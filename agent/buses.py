"""The bus connects to the NATS of the settings, or to a child process in the state directory.

The agent and its bridge log in separately where both have logins, so that event handlers cannot
publish commands. An external NATS with one login is shared by both.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from agent.embedded_nats import embedded_nats, embedded_seed, embedded_url
from agent.settings import Settings
from agent.settings.bus_settings import StreamsSettings
from bus.jetstream import Bus, BusSettings
from bus.jetstream.authorization import new_seeds, users_of
from bus.logins import BusLogin
from bus.signature import CommandKey
from bus.spans import Sampler
from bus.subjects import AgentScope
from bus.topology import Sizes

Seeds = Mapping[BusLogin, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentBuses:
    agent: Bus
    bridge: Bus


@asynccontextmanager
async def open_buses(
    settings: Settings,
    command_key: CommandKey,
    seeds: Seeds | None = None,
    sampler: Sampler | None = None,
) -> AsyncIterator[AgentBuses]:
    """Open both buses; `seeds` are the logins that the agent made for the NATS of the settings.

    Raises CarrierError where NATS is away, ChildNotReadyError where the embedded one does not
    start.
    """
    async with AsyncExitStack() as stack:
        configured_url = settings.nats.url
        if configured_url is None:
            seeds = new_seeds()
            users = users_of(scope_of(settings), seeds)
            server = embedded_nats(_folder(settings), users, seeds[BusLogin.SUBSCRIBER])
            url = await stack.enter_async_context(server)
        else:
            url = configured_url.get_secret_value()
        shared = replace(
            bus_settings(settings, url), command_key=command_key, sampler=sampler or Sampler()
        )
        agent = await stack.enter_async_context(Bus.open(_as(BusLogin.AGENT, shared, seeds)))
        bridge = agent
        if seeds or settings.nats.bridge_nkey_file:
            own = _bridge(settings, shared, seeds)
            bridge = await stack.enter_async_context(Bus.open(own))
        yield AgentBuses(agent=agent, bridge=bridge)


def bus_url(settings: Settings) -> str:
    """Return the URL of the agent's bus; empty where an embedded one is not running."""
    configured_url = settings.nats.url
    return configured_url.get_secret_value() if configured_url else embedded_url(_folder(settings))


def subscriber_settings(settings: Settings, url: str) -> BusSettings:
    """Settings to read facts with: the login of the settings, or that of the embedded server."""
    found = bus_settings(settings, url)
    if settings.nats.url is None and url == embedded_url(_folder(settings)):
        found = replace(found, nkey_seed=embedded_seed(_folder(settings)))
    return replace(found, login=BusLogin.SUBSCRIBER)


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


def scope_of(settings: Settings) -> AgentScope:
    return AgentScope(settings.account, settings.agent)


def _bridge(settings: Settings, shared: BusSettings, seeds: Seeds | None) -> BusSettings:
    if seeds:
        return _as(BusLogin.BRIDGE, shared, seeds)
    file = _text(settings.nats.bridge_nkey_file)
    return replace(shared, login=BusLogin.BRIDGE, nkey_seed_file=file)


def _as(login: BusLogin, shared: BusSettings, seeds: Seeds | None) -> BusSettings:
    return replace(shared, login=login, nkey_seed=seeds[login] if seeds else "")


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
