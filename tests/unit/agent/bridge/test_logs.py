"""Logs as a stream: of the application's own pods, masked, and no more than the reader takes."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from agent.bridge.reporting.object_nodes import VisibleObjects
from agent.bridge.tasks.executors.logs import LogsExecutor
from agent.bridge.tasks.executors.task_subjects import TaskSubjects
from agent.bridge.tasks.running_task import CHUNK_BYTES, TaskStream
from agent.bridge.tasks.task_context import TaskContext, TaskFailedError
from agent.bridge.transport.link import AgentLink, LinkLostError
from agent.kube.client import KubeClient, kube_client
from agent.kube.connection_config import KubeConnection
from agent.kube.index import LiveIndex
from agent.kube.live import LiveCluster
from agent.kube.live_extent import LiveExtent
from agent.kube.summary import summarise
from agent.store.applications import Applications
from bus.link import Chunk, LinkTask, LogsArguments, TaskKind, UpFrame
from handlers.report.known_secrets import KnownSecrets
from handlers.report.log_redaction import LogRedaction
from handlers.report.redaction import Redaction
from tests.support import eventually
from tests.unit.agent.kube.kube_fixture import own_cluster
from tests.unit.handlers.control_plane.builders import governance

MOST_OF_A_LINE = 256 * 1024
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

    async with serving(log) as client:
        yield client


@asynccontextmanager
async def serving(
    log: Callable[[web.Request], Awaitable[web.StreamResponse]],
) -> AsyncIterator[KubeClient]:
    application = web.Application()
    application.add_routes([web.get(f"{PODS}/{{pod}}/log", log)])
    async with TestServer(application) as server:
        url = str(server.make_url("")).rstrip("/")
        connection = KubeConnection(url=url, tls=True, headers=no_headers)
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


def executor(client: KubeClient, **limits: Any) -> LogsExecutor:
    """With an application `web` that has one pod, `web-1`; `other` belongs to somebody else."""
    index = LiveIndex("argocd")
    for raw in (
        manifest("Deployment", "web"),
        manifest("Pod", "web-1", owner="uid-web"),
        manifest("Pod", "other", owner="uid-other"),
    ):
        index.put(summarise(raw))
    apps = Applications(cast("Any", None))
    metadata = {"name": "web", "namespace": "argocd", "resourceVersion": "1"}
    app = {"metadata": metadata, "spec": {"destination": {"name": "in-cluster"}}}
    apps.put_application(msgspec.json.encode(app))
    redaction = Redaction(salt=b"s", known=KnownSecrets(b"s"))
    live = LiveCluster(client, index, LiveExtent())
    return LogsExecutor(
        subjects=TaskSubjects(apps),
        objects=VisibleObjects(clusters=own_cluster(client, live), governance=governance({})),
        redaction=lambda: redaction,
        **limits,
    )


async def log_line(message: str) -> None:
    assert message


def task_context(stream: TaskStream) -> TaskContext:
    return TaskContext(began="", repeated=False, progress=log_line, stream=stream)


TASK = LinkTask(id="t", kind=TaskKind.LOGS, subject="argocd/web", actor="a")


def logs(pod: str, lines: int) -> LogsArguments:
    return LogsArguments(pod=pod, tail=lines)


async def test_lines_come_masked_and_complete(client: KubeClient) -> None:
    link = Sent()
    stream = TaskStream("t", cast("AgentLink", link))
    stream.grant(64)
    ended = await executor(client)(TASK, logs("web-1", 500), task_context(stream))
    assert ended == {"lines": 500}
    assert link.text.count("line ") == 500
    assert "hunter2" not in link.text
    assert all(len(one.text.encode()) <= CHUNK_BYTES for one in link.frames if type(one) is Chunk)


async def test_a_line_of_a_million_characters_is_cut_and_the_log_goes_on() -> None:
    secret = b"password=hunter2hunter2 "
    long = b"x" * (MOST_OF_A_LINE - 12) + b" " + secret + b"y" * 1_000_000

    async def log(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse()
        await answer.prepare(request)
        await answer.write(b"first\n" + long + b"\n" + b"z" * 1_000_000 + b"\nlast\n")
        return answer

    link = Sent()
    stream = TaskStream("t", cast("AgentLink", link))
    stream.grant(64)
    async with serving(log) as client:
        ended = await executor(client)(TASK, logs("web-1", 4), task_context(stream))
    first, cut, unbroken, last = link.text.strip().split("\n")
    assert (ended, first, last) == ({"lines": 4}, "first", "last")
    assert "hunter" not in cut
    for line in (cut, unbroken):
        assert line.endswith("more bytes of this line]")
        assert len(line) < MOST_OF_A_LINE + 100


@pytest.mark.parametrize(
    "line",
    [
        "\x1b[36mpassword\x1b[0m=hunter2hunter2",
        "password=\x1b[1;33mhunter2hunter2\x1b[0m",
        "\x1b]0;title\x07password: hun\x1b[0mter2hunter2",
        "pass\x1b[0mword=hunter2hunter2",
    ],
)
async def test_colours_hide_no_secret(line: str) -> None:
    redaction = Redaction(salt=b"s", known=KnownSecrets(b"s"))
    coloured = "\x1b[32mINFO\x1b[0m ready"
    (seen, kept) = LogRedaction(lambda: redaction).lines([line, coloured])
    assert "hunter2" not in seen
    assert "ter2hunter" not in seen
    assert kept == coloured


async def test_without_credit_nothing_is_sent(client: KubeClient) -> None:
    link = Sent()
    stream = TaskStream("t", cast("AgentLink", link))
    stream.grant(2)
    async with asyncio.TaskGroup() as tasks:
        work = tasks.create_task(executor(client)(TASK, logs("web-1", 5000), task_context(stream)))
        await eventually(lambda: len(link.frames) == 2 and not stream.has_credit)
        assert not work.done()
        stream.grant(200)
    assert link.text.count("line ") == 5000


async def test_a_stream_ends_with_its_link(client: KubeClient) -> None:
    stream = TaskStream("t", cast("AgentLink", Sent()))
    stream.cut()
    with pytest.raises(LinkLostError):
        await executor(client)(TASK, logs("web-1", 5), task_context(stream))


async def test_a_pod_of_somebody_else_is_not_found(client: KubeClient) -> None:
    stream = TaskStream("t", cast("AgentLink", Sent()))
    with pytest.raises(TaskFailedError, match="there are: web-1"):
        await executor(client)(TASK, logs("other", 5), task_context(stream))


async def test_a_silent_log_gives_signs_of_life() -> None:
    spoken = asyncio.Event()

    async def log(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse()
        await answer.prepare(request)
        await spoken.wait()
        await answer.write(b"at last\n")
        return answer

    link = Sent()
    stream = TaskStream("t", cast("AgentLink", link))
    stream.grant(10_000)
    async with serving(log) as client, asyncio.TaskGroup() as tasks:
        pods = executor(client, sign_seconds=0.01)
        tasks.create_task(pods(TASK, logs("web-1", 5), task_context(stream)))
        await eventually(lambda: len(link.frames) >= 2)
        assert link.text == ""
        spoken.set()
    assert link.text == "at last\n"
