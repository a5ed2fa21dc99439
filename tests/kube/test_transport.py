"""What the client makes of an API server in trouble, from a server that speaks just that."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from agent.kube.client import KubeClient, kube_client
from agent.kube.config import Connection
from agent.kube.transport import RequestSeen
from agent.kube.watch import KindWatch, Subject
from handlers.ports import ApplyRefusedError, ClusterUnreachableError
from tests.kube.world import until

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


async def no_headers() -> dict[str, str]:
    return {}


@asynccontextmanager
async def answered(
    answer: Answer, seen: list[RequestSeen] | None = None
) -> AsyncIterator[KubeClient]:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    async with TestServer(app) as server:
        url = str(server.make_url("")).rstrip("/")
        connection = Connection(url=url, tls=False, headers=no_headers)
        observe = seen.append if seen is not None else None
        async with kube_client(connection, answer_within=0.5, observe=observe) as client:
            yield client


async def test_a_429_is_tried_again_when_the_server_asks_for_it() -> None:
    answers = iter([429, 429, 200])
    seen: list[RequestSeen] = []

    async def busy(_: web.Request) -> web.Response:
        return web.Response(status=next(answers), text="{}", headers={"Retry-After": "0"})

    async with answered(busy, seen) as client:
        await client.get("/x")

    assert [(it.verb, it.code) for it in seen] == [("get", 429), ("get", 429), ("get", 200)]


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

    async with answered(silent, seen) as client:
        with pytest.raises(ClusterUnreachableError, match="did not answer in time"):
            await client.get("/x")

    assert [it.code for it in seen] == [0]


async def test_a_closed_port_is_unreachable(unused_tcp_port: int) -> None:
    url = f"http://127.0.0.1:{unused_tcp_port}"
    connection = Connection(url=url, tls=False, headers=no_headers)
    async with kube_client(connection) as client:
        with pytest.raises(ClusterUnreachableError, match=str(unused_tcp_port)):
            await client.get("/x")


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
        if "watch" not in request.query:
            newest = "9" if asked else "5"
            return web.json_response({"metadata": {"resourceVersion": newest}, "items": []})
        asked.append(request.query["resourceVersion"])
        bookmark = '{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}}\n'
        return web.Response(text=bookmark)

    async with answered(serve) as client:
        watch = KindWatch(client, Subject(name="Toy", path="/toys", query={}), Nothing())
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
