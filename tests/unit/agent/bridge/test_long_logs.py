"""A log of a hundred megabytes: no faster than its reader, to a limit that is told."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import cast

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from agent.bridge.tasks.executors.logs import MOST_BYTES
from agent.bridge.tasks.running_task import CHUNK_BYTES, TaskStream
from agent.bridge.tasks.task_context import TaskFailedError
from agent.bridge.transport.link import AgentLink
from agent.kube.client import KubeClient, kube_client
from agent.kube.connection_config import KubeConnection
from tests.support import eventually
from tests.unit.agent.bridge.test_logs import (
    PODS,
    TASK,
    Sent,
    executor,
    logs,
    no_headers,
    task_context,
)

LINE = b"2026-01-01T00:00:00Z " + b"x" * 1002 + b"\n"
BUFFERS = 24 << 20
"""More than the sockets of both sides hold between them."""


@dataclass
class Chatty:
    """An API server with a pod that never stops, but for the limit that is asked for."""

    sent: int = 0
    limits: list[int] = field(default_factory=list)

    async def log(self, request: web.Request) -> web.StreamResponse:
        self.limits.append(int(request.query["limitBytes"]))
        answer = web.StreamResponse()
        await answer.prepare(request)
        while self.sent < self.limits[-1]:
            await answer.write((LINE * 64)[: self.limits[-1] - self.sent])
            self.sent += min(len(LINE) * 64, self.limits[-1] - self.sent)
        return answer


@pytest.fixture
def chatty() -> Chatty:
    return Chatty()


@pytest.fixture
async def client(chatty: Chatty) -> AsyncIterator[KubeClient]:
    application = web.Application()
    application.add_routes([web.get(f"{PODS}/{{pod}}/log", chatty.log)])
    async with TestServer(application) as server:
        url = str(server.make_url("")).rstrip("/")
        async with kube_client(KubeConnection(url=url, tls=True, headers=no_headers)) as client:
            yield client


async def test_a_reader_who_stops_stops_the_source(client: KubeClient, chatty: Chatty) -> None:
    link = Sent()
    stream = TaskStream("t", cast("AgentLink", link))
    stream.grant(8)
    reading = executor(client)(TASK, logs("web-1", 10_000), task_context(stream))
    work = asyncio.create_task(reading, name="log")
    await eventually(lambda: not stream.has_credit)
    before = -1
    while chatty.sent > before:  # until the pod cannot say any more
        before = chatty.sent
        await asyncio.sleep(0.2)
    assert len(link.frames) == 8
    assert chatty.sent < BUFFERS < MOST_BYTES
    work.cancel()
    await asyncio.wait({work})


async def test_the_end_by_the_limit_is_told(client: KubeClient, chatty: Chatty) -> None:
    most = 4 << 20
    link = CountedSends()
    stream = link.stream = TaskStream("t", cast("AgentLink", link))
    stream.grant(64)
    pods = executor(client, most=most)
    with pytest.raises(TaskFailedError, match="more than 4 MiB"):
        await pods(TASK, logs("web-1", 10_000), task_context(stream))
    assert chatty.limits == [most]
    assert most <= link.taken <= most + CHUNK_BYTES
    assert executor(client).most == MOST_BYTES == 100 << 20


@dataclass
class CountedSends(Sent):
    """Takes all, and keeps nothing of it."""

    taken: int = 0
    stream: TaskStream | None = None

    async def send(self, frame: object) -> None:
        self.taken += len(getattr(frame, "text", ""))
        if self.stream is not None:
            self.stream.grant(1)
