"""The bus as the settings want it: a NATS that somebody runs, or a child in the state directory.

The agent and its bridge log in separately where there are logins for both, so that what handles
events cannot publish commands. With one login, of a NATS that somebody else runs, both share it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from agent.embedded import embedded_nats, embedded_seed, embedded_url
from agent.settings import Settings, StreamsSettings
from bus.jetstream import Bus, BusSettings
from bus.jetstream.authorization import new_seeds, users_of
from bus.logins import Login
from bus.signature import CommandKey
from bus.subjects import Scope
from bus.topology import Sizes

Seeds = Mapping[Login, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Buses:
    agent: Bus
    bridge: Bus


@asynccontextmanager
async def open_buses(
    settings: Settings, command_key: CommandKey, seeds: Seeds | None = None
) -> AsyncIterator[Buses]:
    """`seeds` are of the logins that the agent made for the NATS at the settings' URL.

    Raises CarrierError where NATS is away, ChildNotReadyError where ours does not start.
    """
    async with AsyncExitStack() as stack:
        given = settings.nats.url
        if given is None:
            seeds = new_seeds()
            users = users_of(scope_of(settings), seeds)
            server = embedded_nats(_folder(settings), users, seeds[Login.SUBSCRIBER])
            url = await stack.enter_async_context(server)
        else:
            url = given.get_secret_value()
        shared = replace(bus_settings(settings, url), command_key=command_key)
        agent = await stack.enter_async_context(Bus.open(_as(Login.AGENT, shared, seeds)))
        bridge = agent
        if seeds or settings.nats.bridge_nkey_file:
            own = _bridge(settings, shared, seeds)
            bridge = await stack.enter_async_context(Bus.open(own))
        yield Buses(agent=agent, bridge=bridge)


def bus_url(settings: Settings) -> str:
    """Of the bus that the agent with these settings uses; empty where it runs one and is away."""
    given = settings.nats.url
    return given.get_secret_value() if given else embedded_url(_folder(settings))


def subscriber_settings(settings: Settings, url: str) -> BusSettings:
    """For whoever reads facts: the login that is given, or that of this machine's own server."""
    found = bus_settings(settings, url)
    if settings.nats.url is None and url == embedded_url(_folder(settings)):
        found = replace(found, nkey_seed=embedded_seed(_folder(settings)))
    return replace(found, login=Login.SUBSCRIBER)


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


def scope_of(settings: Settings) -> Scope:
    return Scope(settings.account, settings.agent)


def _bridge(settings: Settings, shared: BusSettings, seeds: Seeds | None) -> BusSettings:
    if seeds:
        return _as(Login.BRIDGE, shared, seeds)
    file = _text(settings.nats.bridge_nkey_file)
    return replace(shared, login=Login.BRIDGE, nkey_seed_file=file)


def _as(login: Login, shared: BusSettings, seeds: Seeds | None) -> BusSettings:
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
