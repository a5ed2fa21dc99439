"""TLS to a real NATS, configured as the chart configures its own."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from agent.child_process import ChildProcess, ChildProgram
from agent.embedded_nats import nats_binary
from agent.loopback import answers_tcp, free_port
from bus.events import RefreshApp
from bus.jetstream import Bus, BusSettings, CarrierUnreachableError
from bus.jetstream.authorization import authorization, new_seeds, users_of
from bus.logins import BusLogin
from bus.subjects import AgentScope
from playground.certificates import (
    Authority,
    KeyPair,
    make_authority,
    make_client_pair,
    make_serving_pair,
)
from tests.support import eventually
from tests.unit.bus.dispatch_fixture import APP, COMMANDS, always_open, dispatching, route_of

pytestmark = pytest.mark.usefixtures("own_servers")

SCOPE = AgentScope("acme", "prod1")


@dataclass(frozen=True)
class TlsServer:
    authority: Authority
    settings: BusSettings


@asynccontextmanager
async def nats_with_tls(folder: Path, *, clients: bool = False) -> AsyncIterator[TlsServer]:
    """With `clients` it wants a client certificate of the same authority."""
    port, seeds = free_port(), new_seeds()
    authority = make_authority(folder)
    pair = make_serving_pair(authority, folder, ("gitops-nats",))
    verify = f"ca_file: {authority.certificate_file}, verify: true" if clients else ""
    file = folder / "nats.conf"
    file.write_text(
        f'listen: "127.0.0.1:{port}"\njetstream {{ store_dir: "{folder}/js" }}\n'
        f"tls: {{cert_file: {pair.certificate_file}, key_file: {pair.key_file}, {verify}}}\n"
        + authorization(users_of(SCOPE, seeds))
    )
    command = (nats_binary(), "--config", str(file))
    program = ChildProgram(name="nats-server", command=command, folder=folder)
    async with ChildProcess(program, answers_tcp(port)):
        yield TlsServer(
            authority,
            BusSettings(
                url=f"tls://127.0.0.1:{port}",
                account=SCOPE.account,
                agent=SCOPE.agent,
                login=BusLogin.AGENT,
                nkey_seed=seeds[BusLogin.AGENT],
                command_key=COMMANDS,
                tls_ca_file=str(authority.certificate_file),
                connect_seconds=3,
            ),
        )


async def handles_an_event(settings: BusSettings) -> None:
    handler = always_open()
    async with Bus.open(settings) as bus:
        await bus.provision()
        async with dispatching(bus, route_of(handler, RefreshApp)):
            await bus.publish(RefreshApp(app=APP))
            await eventually(lambda: handler.left)


async def test_an_event_travels_over_tls(tmp_path: Path) -> None:
    async with nats_with_tls(tmp_path) as server:
        await handles_an_event(server.settings)


async def test_a_server_of_another_authority_is_not_talked_to(tmp_path: Path) -> None:
    folder = tmp_path / "other"
    folder.mkdir()
    other = make_authority(folder)
    async with nats_with_tls(tmp_path) as server:
        mistaken = replace(server.settings, tls_ca_file=str(other.certificate_file))
        with pytest.raises(CarrierUnreachableError, match="certificate verify failed"):
            async with Bus.open(mistaken):
                pass


async def test_a_url_without_tls_sends_no_login_in_clear_text(tmp_path: Path) -> None:
    async with nats_with_tls(tmp_path) as server:
        url = server.settings.url.replace("tls://", "nats://")
        with pytest.raises(CarrierUnreachableError, match="certificate verify failed"):
            async with Bus.open(replace(server.settings, url=url, tls_ca_file="")):
                pass


async def test_a_client_certificate_is_shown_where_the_server_wants_one(tmp_path: Path) -> None:
    async with nats_with_tls(tmp_path, clients=True) as server:
        pair: KeyPair = make_client_pair(server.authority, tmp_path, "agent", "agents")
        with pytest.raises(CarrierUnreachableError):
            async with Bus.open(server.settings):
                pass
        await handles_an_event(
            replace(
                server.settings,
                tls_cert_file=str(pair.certificate_file),
                tls_key_file=str(pair.key_file),
            )
        )


async def test_a_server_that_offers_no_tls_is_told_nothing(tmp_path: Path) -> None:
    """Somebody in between may answer in the server's place, and leave TLS out of his greeting."""
    authority = make_authority(tmp_path)
    heard: list[bytes] = []

    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b'INFO {"server_id":"x","version":"2.12.0","max_payload":1048576}\r\n')
        with contextlib.suppress(ConnectionError):
            heard.append(await reader.read(4096))
        writer.close()

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        settings = BusSettings(
            url=f"tls://127.0.0.1:{port}",
            account=SCOPE.account,
            agent=SCOPE.agent,
            user="agent",
            password="only-by-tls",
            tls_ca_file=str(authority.certificate_file),
            connect_seconds=3,
        )
        with pytest.raises(CarrierUnreachableError, match="offers no TLS"):
            async with Bus.open(settings):
                pass
    assert heard
    assert b"only-by-tls" not in b"".join(heard)


async def test_a_handshake_that_never_ends_ends_with_the_connection(tmp_path: Path) -> None:
    authority = make_authority(tmp_path)
    greeting = b'INFO {"server_id":"x","version":"2.12.0","max_payload":9,"tls_required":true}\r\n'

    async def greet(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(greeting)
        greeted.set()
        await ended.wait()
        writer.close()

    greeted, ended = asyncio.Event(), asyncio.Event()
    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        settings = BusSettings(
            url=f"tls://127.0.0.1:{port}",
            tls_ca_file=str(authority.certificate_file),
            connect_seconds=1,
        )
        async with asyncio.timeout(60):
            with pytest.raises(CarrierUnreachableError):
                async with Bus.open(settings):
                    pass
        assert greeted.is_set()
        ended.set()
