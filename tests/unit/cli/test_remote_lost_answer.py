"""An answer that is lost on its way: the command is sent again, and done once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from service.store import tables
from tests.unit.cli.service_fixture import ServiceFixture, answering


@dataclass
class Lossy:
    """In front of the service; the answer to the first POST is thrown away."""

    port: int
    posts: list[bytes] = field(default_factory=list)

    async def pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            while request := await reader.read(1 << 16):
                back.write(request)
                answer = await there.read(1 << 16)
                if request.startswith(b"POST"):
                    self.posts.append(request)
                    if len(self.posts) == 1:
                        return
                writer.write(answer)
        finally:
            back.close()
            writer.close()


@asynccontextmanager
async def lossy(url: str) -> AsyncIterator[tuple[str, Lossy]]:
    proxy = Lossy(urlsplit(url).port or 0)
    server = await asyncio.start_server(proxy.pass_on, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", proxy


async def test_a_sync_whose_answer_was_lost_is_ordered_once(service: ServiceFixture) -> None:
    await service.log_in("deployer")
    async with answering(service.running_service), lossy(service.url) as (url, proxy):
        await service.move_to(url)
        ran = await service.run("app", "sync", "shop", "--json")
    assert ran.code == 0, ran.err
    assert len(proxy.posts) == 2
    (task,) = await service.running_service.rows(tables.tasks)
    assert ran.answers[0]["id"] == task.id
