"""An API server behind a SOCKS5 proxy, by a name that means nothing here."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from urllib.parse import urlsplit

import pytest

from agent.kube.client import KubeClient, kube_client
from agent.kube.connection_config import connect
from handlers.ports import ClusterUnreachableError
from playground.kubernetes import ControlPlane
from tests.unit.agent.kube.socks_server import SocksServer

LOGIN = ("an@agent", "c4nary: word")
IN_URL = "an%40agent:c4nary%3A%20word@"


@asynccontextmanager
async def behind(
    control_plane: ControlPlane,
    socks: SocksServer,
    login: str = IN_URL,
    server_name: str = "kubernetes",
) -> AsyncIterator[KubeClient]:
    direct = await connect(control_plane.kubeconfig)
    connection = replace(
        direct,
        url="https://cluster.behind.invalid:6443",
        proxy=f"socks5://{login}127.0.0.1:{socks.port}",
        server_name=server_name,
    )
    async with kube_client(connection) as client:
        yield client


async def server_of(control_plane: ControlPlane) -> tuple[str, int]:
    parts = urlsplit((await connect(control_plane.kubeconfig)).url)
    return parts.hostname or "", parts.port or 443


@pytest.mark.parametrize("login", [None, LOGIN], ids=["without a login", "with a login"])
async def test_the_proxy_looks_the_name_up_and_tls_ends_at_the_server(
    control_plane: ControlPlane, login: tuple[str, str] | None
) -> None:
    socks = SocksServer(behind=await server_of(control_plane), login=login)
    async with socks.open(), behind(control_plane, socks) as client:
        found = await client.get("/api/v1/namespaces/kube-system")
    assert b"kube-system" in found
    assert socks.asked == [("cluster.behind.invalid", 6443)]


@pytest.mark.parametrize(
    ("how", "url", "why"),
    [
        ({"login": ("an@agent", "another")}, IN_URL, "refuses user and password"),
        ({"login": LOGIN}, "", "wants a login"),
        ({"answer": 2}, "", "cluster.behind.invalid:6443: its rules do not allow"),
        ({"answer": 99}, "", "code 99"),
    ],
    ids=["another login", "no login", "refused", "an unknown refusal"],
)
async def test_a_refusal_of_the_proxy_is_named_without_the_login(
    control_plane: ControlPlane, how: dict[str, object], url: str, why: str
) -> None:
    socks = SocksServer(behind=await server_of(control_plane), **how)  # type: ignore[arg-type]
    async with socks.open(), behind(control_plane, socks, url) as client:
        with pytest.raises(ClusterUnreachableError) as error:
            await client.get("/api/v1/namespaces/kube-system")
    assert why in str(error.value)
    assert "c4nary" not in str(error.value)


async def test_the_certificate_is_checked_through_the_proxy(control_plane: ControlPlane) -> None:
    socks = SocksServer(behind=await server_of(control_plane))
    async with (
        socks.open(),
        behind(control_plane, socks, "", server_name="another.example") as client,
    ):
        with pytest.raises(ClusterUnreachableError, match=r"certificate|hostname|verify"):
            await client.get("/api/v1/namespaces/kube-system")


async def test_a_proxy_that_is_none_and_one_that_is_away_are_named(
    control_plane: ControlPlane,
) -> None:
    def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.0 400 Bad Request\r\n\r\n")
        writer.close()

    server = await server_of(control_plane)
    web = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with web:
        places = {1: "cannot be reached", web.sockets[0].getsockname()[1]: "speak SOCKS5"}
        for port, why in places.items():
            socks = SocksServer(behind=server, port=port)
            async with behind(control_plane, socks, "") as client:
                with pytest.raises(ClusterUnreachableError, match=f"SOCKS proxy.*{why}"):
                    await client.get("/api/v1/namespaces/kube-system")
