"""A long log and a reader who stops: its agent waits, nobody else does, and nothing is missing."""

from __future__ import annotations

import asyncio
import json
import re
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

import msgspec
import pytest

from bus.link import Chunk, Credit, End, Offer, TaskKind
from service.gateway.task_streams import pieces
from tests.service.fake_agent import AgentConnection, FakeOutbox, application, connect
from tests.service.service_fixture import RunningService
from tests.support import eventually

pytestmark = pytest.mark.timeout(240)

CHUNKS = 500
LINE = "x" * 1023 + "\n"
TEXT = LINE * 16
"""What a chunk may hold; all together more than any socket takes unread."""


@dataclass
class SlowReader:
    """Somebody at the API who reads when told to."""

    incoming: asyncio.StreamReader

    async def rest(self) -> tuple[str, str]:
        """All text, and why it ended."""
        raw = (await self.incoming.read()).decode()
        lines = re.findall(r"^data: (.*)$", raw, re.MULTILINE)
        parts = [json.loads(one) for one in lines]
        return "".join(one.get("text", "") for one in parts), parts[-1].get("reason", "")


@asynccontextmanager
async def reader(running_service: RunningService, path: str) -> AsyncIterator[SlowReader]:
    """Asks and takes nothing yet."""
    place = urlsplit(running_service.service.url)
    narrow = socket.create_connection((place.hostname, place.port))
    narrow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
    incoming, outgoing = await asyncio.open_connection(sock=narrow)
    outgoing.write(
        f"GET /api/v1{path} HTTP/1.1\r\nHost: {place.netloc}\r\nConnection: close\r\n"
        f"Authorization: Bearer {await running_service.bearer()}\r\n\r\n".encode()
    )
    try:
        yield SlowReader(incoming)
    finally:
        outgoing.close()


@dataclass
class LogSource:
    """The agent's end of the stream: sends as much as it has credit for."""

    link: AgentConnection
    task: str
    sent: int = 0

    async def run(self) -> None:
        while self.sent < CHUNKS:
            credit = (await self.link.until(Credit)).chunks
            for _ in range(min(credit, CHUNKS - self.sent)):
                self.sent += 1
                await self.link.send(Chunk(task=self.task, number=self.sent, text=TEXT))
        await self.link.send(End(task=self.task, reason="eof"))


@pytest.mark.parametrize(
    "text",
    ["x" * 16_384, '"\\\n' * 5000, "\x01" * 8000, "ü" * 8000, "\U0001f600" * 4000, ""],
    ids=["plain", "escaped", "control", "umlauts", "faces", "nothing"],
)
def test_every_piece_of_a_chunk_fits_a_signal(text: str) -> None:
    found = list(pieces(Chunk(task="t", number=1, text=text)))
    assert "".join(piece.text for piece in found) == text
    assert [piece.last for piece in found] == [False] * (len(found) - 1) + [True]
    assert all(len(msgspec.json.encode(piece)) < 7900 for piece in found)


async def test_a_reader_who_stops_holds_up_his_own_log_only(
    running_service: RunningService,
) -> None:
    loud, good = await running_service.enrolled("loud"), await running_service.enrolled("good")
    outbox, other = FakeOutbox(), FakeOutbox()
    async with connect(loud) as link, connect(good) as neighbour:
        await link.hello(loud, outbox.epoch)
        await link.put([outbox.state(application("shop"))])
        await neighbour.hello(good, other.epoch)
        (row,) = (await running_service.call("GET", "/applications"))[1]["items"]
        async with reader(running_service, f"/applications/{row['id']}/logs?pod=shop-1") as idle:
            offered = (await link.until(Offer)).task
            assert offered.kind is TaskKind.LOGS
            source = LogSource(link, offered.id)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(source.run(), name="log")
                await eventually(lambda: source.sent >= 64)
                for _ in range(100):
                    await neighbour.put([other.state(application("shop"))])
                assert source.sent < CHUNKS
                text, reason = await idle.rest()
    assert source.sent == CHUNKS
    assert (text == TEXT * CHUNKS, reason) == (True, "eof")
