"""How the service is reached: by TLS with a private authority, through a proxy, after a cut."""

from __future__ import annotations

import asyncio
import os
import ssl
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from agent.loopback import free_port
from playground.certificates import Authority, make_authority, make_serving_pair
from tests.connect_proxy import behind_tls, connect_proxy
from tests.service.fake_agent import application
from tests.service.service_fixture import open_service, settings
from tests.support import eventually
from tests.unit.cli.conftest import ROOT
from tests.unit.cli.service_fixture import ServiceFixture, answering


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return make_authority(tmp_path)


@pytest.fixture
async def secured(
    service: ServiceFixture, authority: Authority, tmp_path: Path
) -> AsyncIterator[str]:
    """The service's URL by TLS, with a certificate that a private authority signed."""
    pair = make_serving_pair(authority, tmp_path, ())
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pair.certificate_file, pair.key_file)
    async with behind_tls(context, urlsplit(service.url).port or 0) as port:
        yield f"https://localhost:{port}"


async def test_a_private_authority_is_trusted_where_it_is_named(
    service: ServiceFixture, authority: Authority, secured: str, tmp_path: Path
) -> None:
    token = await service.token("viewer")
    refused = await service.run("login", secured, "--token", stdin=token)
    login = ("login", secured, "--token", "--ca-file", authority.certificate_file)
    logged_in = await service.run(*login, stdin=token)
    listed = await service.run("agent", "list")
    no_file = await service.run(
        "login", secured, "--token", "--ca-file", tmp_path / "no", stdin=token
    )
    assert (refused.code, logged_in.code, listed.code) == (3, 0, 0), logged_in.err + listed.err
    assert "--ca-file FILE" in refused.err
    assert token not in refused.err + logged_in.out
    assert no_file.code == 2


async def test_the_proxy_of_the_environment_is_used_and_sees_no_secret(
    service: ServiceFixture, authority: Authority, secured: str
) -> None:
    token = await service.token("viewer")
    async with connect_proxy() as proxy, answering(service.running_service):
        proxied = {"HTTPS_PROXY": f"http://127.0.0.1:{proxy.port}", "NO_PROXY": "", "no_proxy": ""}
        login = ("login", secured, "--token", "--ca-file", authority.certificate_file)
        logged_in = await service.run(*login, stdin=token, **proxied)
        listed = await service.run("app", "list", "--json", **proxied)
    place = secured.removeprefix("https://")
    assert (logged_in.code, listed.code) == (0, 0), logged_in.err + listed.err
    assert [it["name"] for it in listed.answers] == ["shop"]
    assert set(proxy.asked) == {f"CONNECT {place} HTTP/1.1"}
    assert len(proxy.asked) == 2


async def test_a_host_that_needs_no_proxy_is_reached_without(
    service: ServiceFixture, authority: Authority, secured: str
) -> None:
    token = await service.token("viewer")
    nowhere = {"HTTPS_PROXY": "http://127.0.0.1:1", "NO_PROXY": "localhost"}
    login = ("login", secured, "--token", "--ca-file", authority.certificate_file)
    assert (await service.run(*login, stdin=token, **nowhere)).code == 0


@dataclass
class Counting:
    """In front of the service: hands on, and keeps what was asked."""

    port: int
    asked: list[str] = field(default_factory=list)

    async def pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self.port)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._ask(reader, back))
            while answer := await there.read(1 << 16):
                writer.write(answer)
            writer.close()

    async def _ask(self, reader: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        while request := await reader.read(1 << 16):
            self.asked.append(request.split()[1].decode().removeprefix("/api/v1"))
            back.write(request)
        back.close()

    def of(self, path: str) -> int:
        return sum(it.startswith(path) for it in self.asked)


async def test_wait_is_told_of_the_change_and_does_not_ask_again_and_again(
    service: ServiceFixture,
) -> None:
    """The application is asked for once at the start, and once per change."""
    await service.log_in("viewer")
    ill = application("shop", health="Progressing")
    proxy = Counting(urlsplit(service.url).port or 0)
    server = await asyncio.start_server(proxy.pass_on, "127.0.0.1", 0)
    async with server, answering(service.running_service, ill, application("other")) as agent:
        await service.move_to(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(service.run("app", "wait", "shop"))
            await eventually(lambda: proxy.of("/applications/") == 1)
            await agent.put(agent.outbox.state(application("other", health="Degraded")))
            await agent.put(agent.outbox.state(application("shop")))
    assert waiting.result().code == 0, waiting.result().err
    assert (proxy.of("/applications/"), proxy.of("/events")) == (2, 1)


async def test_wait_goes_on_after_the_service_was_away(
    service: ServiceFixture, database_url: str
) -> None:
    await service.log_in("viewer")
    at_port = settings(database_url).model_copy(update={"port": free_port()})
    async with answering(
        service.running_service, application("shop", health="Progressing")
    ) as agent:
        async with open_service(at_port) as other:
            await service.move_to(other.url)
            process = await waiting_for("shop", service)
            await eventually(lambda: other.dependencies.hub.listeners == 1)
        async with open_service(at_port):
            await agent.put(agent.outbox.state(application("shop")))
            out, err = await process.communicate()
    assert (process.returncode, "Healthy" in out.decode()) == (0, True), err


async def waiting_for(name: str, service: ServiceFixture) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *("-c", "from cli.main import main; main()", "app", "wait", name),
        env={**os.environ, "PYTHONPATH": str(ROOT), "XDG_CONFIG_HOME": str(service.config)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
