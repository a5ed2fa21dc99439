"""Logs as a stream: of the application's own pods, masked, and no more than the reader takes."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from agent.bridge.doing import Doing, TaskFailedError
from agent.bridge.executor.pods import Pods
from agent.bridge.executor.tools import Tools
from agent.bridge.link import Link, LinkLostError
from agent.bridge.streams import CHUNK_BYTES, TaskStream
from agent.kube.client import KubeClient, kube_client
from agent.kube.config import Connection
from agent.kube.index import LiveIndex
from agent.kube.live import Extent, Live
from agent.kube.summary import summarise
from agent.store.applications import Applications
from bus.link import Chunk, Task, TaskKind, UpFrame
from handlers.report.known import KnownSecrets
from handlers.report.redaction import Redaction
from tests.control_plane.build import governance
from tests.support import eventually

PODS = "/api/v1/namespaces/shop/pods"


@dataclass
class Sent:
    """A link that keeps what was sent over it."""

    frames: list[UpFrame] = field(default_factory=list)

    async def send(self, frame: UpFrame) -> None:
        self.frames.append(frame)

    async def receive(self) -> Any:
        await asyncio.Event().wait()

    @property
    def text(self) -> str:
        return "".join(frame.text for frame in self.frames if isinstance(frame, Chunk))


async def no_headers() -> dict[str, str]:
    return {}


@pytest.fixture
async def client() -> AsyncIterator[KubeClient]:
    """Of an API server whose pods say what tests want to hear."""

    async def log(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse()
        await answer.prepare(request)
        for number in range(int(request.query["tailLines"])):
            await answer.write(f"line {number} password=hunter2hunter2\n".encode())
        return answer

    application = web.Application()
    application.add_routes([web.get(f"{PODS}/{{pod}}/log", log)])
    async with TestServer(application) as server:
        url = str(server.make_url("")).rstrip("/")
        connection = Connection(url=url, tls=True, headers=no_headers)
        async with kube_client(connection) as client:
            yield client


def manifest(kind: str, name: str, owner: str = "") -> bytes:
    tracking = {"argocd.argoproj.io/tracking-id": f"web:apps/{kind}:shop/{name}"}
    owners = [{"apiVersion": "apps/v1", "kind": "x", "name": "x", "uid": owner}] if owner else []
    return msgspec.json.encode(
        {
            "apiVersion": "v1" if kind == "Pod" else "apps/v1",
            "kind": kind,
            "metadata": {
                "name": name,
                "namespace": "shop",
                "uid": f"uid-{name}",
                "resourceVersion": "1",
                "ownerReferences": owners,
                "annotations": {} if owner else tracking,
            },
        }
    )


def tools(client: KubeClient) -> Tools:
    index = LiveIndex("argocd")
    for raw in (
        manifest("Deployment", "web"),
        manifest("Pod", "web-1", owner="uid-web"),
        manifest("Pod", "other", owner="uid-other"),
    ):
        index.put(summarise(raw))
    apps = Applications(cast("Any", None))
    app = {"metadata": {"name": "web", "namespace": "argocd", "resourceVersion": "1"}, "spec": {}}
    apps.put_application(msgspec.json.encode(app))
    redaction = Redaction(salt=b"s", known=KnownSecrets(b"s"))
    parts: dict[str, Any] = dict.fromkeys(Tools.__slots__)
    parts |= {"client": client, "applications": apps, "live": Live(client, index, Extent())}
    parts["governance"] = governance({})
    return Tools(**{**parts, "redaction": lambda: redaction})


async def said(message: str) -> None:
    assert message


def doing(stream: TaskStream) -> Doing:
    return Doing(began="", repeated=False, cancelled=lambda: False, progress=said, stream=stream)


def logs(pod: str, lines: int) -> Task:
    arguments = {"pod": pod, "tail": lines}
    return Task(id="t", kind=TaskKind.LOGS, subject="argocd/web", actor="a", arguments=arguments)


async def test_lines_come_masked_and_complete(client: KubeClient) -> None:
    link = Sent()
    stream = TaskStream("t", cast("Link", link))
    stream.grant(64)
    ended = await Pods(tools(client)).logs(logs("web-1", 500), doing(stream))
    assert ended == {"lines": 500}
    assert link.text.count("line ") == 500
    assert "hunter2" not in link.text
    assert all(len(one.text.encode()) <= CHUNK_BYTES for one in link.frames if type(one) is Chunk)


async def test_without_credit_nothing_is_sent(client: KubeClient) -> None:
    link = Sent()
    stream = TaskStream("t", cast("Link", link))
    stream.grant(2)
    async with asyncio.TaskGroup() as tasks:
        work = tasks.create_task(Pods(tools(client)).logs(logs("web-1", 5000), doing(stream)))
        await eventually(lambda: len(link.frames) == 2 and not stream.has_credit)
        assert not work.done()
        stream.grant(200)
    assert link.text.count("line ") == 5000


async def test_a_stream_ends_with_its_link(client: KubeClient) -> None:
    stream = TaskStream("t", cast("Link", Sent()))
    stream.cut()
    with pytest.raises(LinkLostError):
        await Pods(tools(client)).logs(logs("web-1", 5), doing(stream))


async def test_a_pod_of_somebody_else_is_not_found(client: KubeClient) -> None:
    stream = TaskStream("t", cast("Link", Sent()))
    with pytest.raises(TaskFailedError, match="there are: web-1"):
        await Pods(tools(client)).logs(logs("other", 5), doing(stream))
