"""What the client makes of an API server in trouble, from a server that speaks just that."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import socket
import ssl
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from agent.kube.client import KubeClient, kube_client
from agent.kube.connection_config import AuthHeaders, KubeConnection
from agent.kube.kube_request import RequestSeen
from agent.kube.watch import KindWatch, WatchTarget
from agent.loopback import free_port
from handlers.ports import ApplyRefusedError, ClusterUnreachableError
from playground.certificates import make_authority, serving
from tests.connect_proxy import refusing_proxy
from tests.unit.agent.kube.kube_fixture import until

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


async def no_headers() -> dict[str, str]:
    return {}


@asynccontextmanager
async def answered(
    answer: Answer,
    seen: list[RequestSeen] | None = None,
    headers: AuthHeaders = no_headers,
    within: float = 120,
) -> AsyncIterator[KubeClient]:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    async with TestServer(app) as server:
        url = str(server.make_url("")).rstrip("/")
        connection = KubeConnection(url=url, tls=False, headers=headers)
        observe = seen.append if seen is not None else None
        async with kube_client(connection, answer_within=within, observe=observe) as client:
            yield client


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
async def test_a_cluster_cannot_send_the_agent_elsewhere(code: int) -> None:
    asked: list[str] = []

    async def redirect(request: web.Request) -> web.Response:
        asked.append(request.path)
        return web.Response(status=code, headers={"Location": "/latest/meta-data"})

    async with answered(redirect) as client:
        for call in (client.get("/api/v1/nodes"), client.create("/api/v1/nodes", b"{}")):
            with pytest.raises(ClusterUnreachableError, match="which is not followed"):
                await call
    assert asked == ["/api/v1/nodes"] * 2


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/namespaces/shop/secrets/..",
        "/api/v1/./secrets/a",
        "/api/v1/namespaces/shop/pods/%2e%2E/secrets/a",
        "/api/v1/namespaces/shop/pods/.\t./secrets/a",
        "/api/v1/namespaces/shop/pods/..%2fsecrets",
        "/api/v1/namespaces/shop/pods/%252e%252e",
        "/api/v1/namespaces/shop/pods/web?dryRun=All",
        "/api/v1/namespaces/shop/pods/web#web",
        "/api/v1/namespaces/shop/pods/..\\secrets",
    ],
)
async def test_a_path_that_leads_elsewhere_is_not_sent(path: str) -> None:
    asked: list[str] = []

    async def note(request: web.Request) -> web.Response:
        asked.append(request.path)
        return web.Response(text="{}")

    async with answered(note) as client:
        with pytest.raises(ApplyRefusedError, match="names no object"):
            await client.get(path)
    assert asked == []


async def test_the_name_of_a_role_may_have_colons() -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(text=request.path)

    async with answered(answer) as client:
        assert await client.get("/x/system%3Anode") == b"/x/system:node"
        assert await client.get("/x/system:node") == b"/x/system:node"


async def test_a_429_is_tried_again_when_the_server_asks_for_it() -> None:
    answers = iter([429, 429, 200])
    seen: list[RequestSeen] = []

    async def busy(_: web.Request) -> web.Response:
        return web.Response(status=next(answers), text="{}", headers={"Retry-After": "0"})

    async with answered(busy, seen) as client:
        await client.get("/x")

    assert [(it.verb, it.code) for it in seen] == [("get", 429), ("get", 429), ("get", 200)]


async def test_a_pause_that_is_no_number_is_not_read() -> None:
    """Python calls a superscript a digit, and cannot read it."""
    answers = iter([429, 200])

    async def busy(_: web.Request) -> web.Response:
        status = {"details": {"retryAfterSeconds": 0.001}}
        headers = {"Retry-After": "\N{SUPERSCRIPT TWO}"}
        return web.json_response(status, status=next(answers), headers=headers)

    async with answered(busy) as client:
        await client.get("/x")


async def test_a_429_without_end_is_refused_for_now() -> None:
    async def busy(_: web.Request) -> web.Response:
        return web.Response(status=429, headers={"Retry-After": "3600"})

    async with answered(busy) as client:
        with pytest.raises(ApplyRefusedError) as refused:
            await client.get("/x")

    assert (refused.value.code, refused.value.permanent) == (429, False)


async def test_silence_is_unreachable() -> None:
    seen: list[RequestSeen] = []

    async def silent(_: web.Request) -> web.Response:
        await asyncio.Event().wait()
        raise AssertionError

    async with answered(silent, seen, within=0.5) as client:
        with pytest.raises(ClusterUnreachableError, match="did not answer in time"):
            await client.get("/x")

    assert [it.code for it in seen] == [0]


async def test_a_closed_port_is_unreachable() -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    connection = KubeConnection(url=url, tls=False, headers=no_headers)
    async with kube_client(connection) as client:
        with pytest.raises(ClusterUnreachableError, match=str(port)):
            await client.get("/x")


async def test_requests_cancelled_while_they_connect_leave_no_socket_behind(
    tmp_path: Path,
) -> None:
    """Whose loop ends right after has nobody left who would close them."""
    authority = make_authority(tmp_path)
    server = await asyncio.start_server(_idle, "127.0.0.1", 0, ssl=serving(authority, tmp_path))
    port: int = server.sockets[0].getsockname()[1]
    trust = ssl.create_default_context(cafile=str(authority.certificate_file))
    connection = KubeConnection(url=f"https://127.0.0.1:{port}", tls=trust, headers=no_headers)
    left: list[int] = []
    for turns in range(0, 40, 3):
        async with kube_client(connection) as client:
            requests = [asyncio.ensure_future(client.get("/x")) for _ in range(8)]
            for _turn in range(turns):
                await asyncio.sleep(0)
            for request in requests:
                request.cancel()
            await asyncio.wait(requests)
        left.append(_open_sockets_to(port))
    server.close()

    assert set(left) == {0}


async def test_deletion_names_uid_and_propagation() -> None:
    bodies: list[object] = []

    async def keep(request: web.Request) -> web.Response:
        bodies.append(await request.json())
        return web.json_response({"kind": "Status"})

    async with answered(keep) as client:
        await client.delete("/x", uid="u", propagation="Foreground")

    assert bodies == [
        {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": "Foreground",
            "preconditions": {"uid": "u"},
        }
    ]


async def test_a_watch_goes_on_from_the_last_bookmark() -> None:
    asked: list[str] = []

    async def serve(request: web.Request) -> web.StreamResponse:
        if request.path.endswith("/kube-system"):
            return web.json_response({"metadata": {"name": "kube-system", "uid": "u"}})
        if "watch" not in request.query:
            newest = "9" if asked else "5"
            return web.json_response({"metadata": {"resourceVersion": newest}, "items": []})
        asked.append(request.query["resourceVersion"])
        bookmark = '{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}}\n'
        return web.Response(text=bookmark)

    async with answered(serve) as client:
        watch = KindWatch(client, WatchTarget(name="Toy", path="/toys", query={}), Nothing())
        task = asyncio.ensure_future(watch.run())
        await until(lambda: len(asked) > 1)
        task.cancel()
        await asyncio.wait([task])

    assert asked[:2] == ["5", "9"]


class Nothing:
    def begin_list(self) -> None: ...
    def forget_versions(self) -> None: ...
    def put(self, raw: bytes) -> None: ...
    def remove(self, raw: bytes) -> None: ...
    def end_list(self, resource_version: str) -> None: ...


async def _idle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A server that takes connections and answers nothing."""
    with contextlib.suppress(ConnectionError):
        await reader.read()
    writer.close()


def _open_sockets_to(port: int) -> int:
    sockets = (it for it in gc.get_objects() if isinstance(it, socket.socket))
    return sum(it.fileno() >= 0 and _peer(it) == port for it in sockets)


def _peer(of: socket.socket) -> int:
    try:
        return int(of.getpeername()[1])
    except (OSError, IndexError):
        return 0


async def test_a_proxy_that_refuses_is_named_without_its_password() -> None:
    async with refusing_proxy() as port:
        connection = KubeConnection(
            url="https://prod.example:6443",
            tls=ssl.create_default_context(),
            headers=no_headers,
            proxy=f"http://team:hunter2-secret@127.0.0.1:{port}",
        )
        async with kube_client(connection) as client:
            with pytest.raises(ClusterUnreachableError) as failed:
                await client.get("/version")
    assert f"http://127.0.0.1:{port}" in str(failed.value)
    shown = "".join(traceback.format_exception(failed.value))
    assert "hunter2" not in shown
