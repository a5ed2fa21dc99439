"""The server of agent and service against those who send half of something, on real sockets."""

from __future__ import annotations

import asyncio
import gc
import select
import socket
import tracemalloc
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
import uvloop
from aiohttp import web

from bus.http.body import BODIES, BodyError, read_body
from bus.http.budget import HttpLimits
from bus.http.connection import vouch
from bus.http.server import serving
from tests.support import eventually

HALF_HEAD = b"POST /read HTTP/1.1\r\nHost: x\r\n"
HEAD = HALF_HEAD + b"Content-Length: %d\r\n\r\n"
GET = b"GET /hello HTTP/1.1\r\nHost: x\r\n\r\n"
MIB = 1 << 20


@dataclass(kw_only=True)
class ServedApplication:
    app: web.Application = field(default_factory=web.Application)
    port: int = 0
    problems: list[str] = field(default_factory=list)
    reading: int = 0
    writers: list[asyncio.StreamWriter] = field(default_factory=list)

    async def connect(
        self, address: str = "127.0.0.1"
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", self.port, local_addr=(address, 0)
        )
        self.writers.append(writer)
        return reader, writer

    def hang_up(self) -> None:
        for writer in self.writers:
            writer.transport.abort()
        self.writers.clear()

    async def request(
        self, text: bytes, address: str = "127.0.0.1"
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await self.connect(address)
        writer.write(text)
        await writer.drain()
        return reader, writer

    async def read(self, request: web.Request) -> web.Response:
        self.reading += 1
        try:
            body = await read_body(request, 8 * MIB)
        except BodyError as error:
            self.problems.append(error.problem.value)
            return web.Response(status=error.problem.status, text=str(error))
        return web.Response(text=str(len(body)))

    async def hello(self, _: web.Request) -> web.Response:
        return web.Response(text="hello")

    async def stream(self, request: web.Request) -> web.StreamResponse:
        """For who has logged in: without an end."""
        vouch(request)
        response = web.StreamResponse()
        await response.prepare(request)
        await asyncio.Event().wait()
        return response

    async def stuck(self, _: web.Request) -> web.Response:
        await asyncio.Event().wait()
        return web.Response()


@asynccontextmanager
async def open_site(**limits: float) -> AsyncIterator[ServedApplication]:
    site = ServedApplication()
    site.app.router.add_post("/read", site.read)
    for name in ("hello", "stream", "stuck"):
        site.app.router.add_get(f"/{name}", getattr(site, name))
    chosen = HttpLimits(**limits)  # type: ignore[arg-type]  # whole numbers where it wants them
    async with serving(site.app, "127.0.0.1", 0, limits=chosen) as site.port:
        yield site
        site.hang_up()


async def ended(reader: asyncio.StreamReader) -> bool:
    """The server has ended the connection; what it sent before is thrown away."""
    try:
        async with asyncio.timeout(60):
            while await reader.read(MIB):
                pass
    except ConnectionResetError:
        return True
    return True


async def head_of(reader: asyncio.StreamReader) -> bytes:
    async with asyncio.timeout(60):
        return await reader.readuntil(b"\r\n")


async def test_a_head_that_does_not_end_is_cut_off_although_bytes_keep_coming() -> None:
    async with open_site(head_seconds=0.3) as site:
        reader, writer = await site.request(HALF_HEAD)

        async def drip() -> None:
            while not reader.at_eof() and reader.exception() is None:
                writer.write(b"X-More: 1\r\n")
                await asyncio.sleep(0.05)

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(drip(), name="drip")
            assert await ended(reader)


async def test_a_connection_without_a_byte_is_cut_off() -> None:
    async with open_site(head_seconds=0.2) as site:
        reader, _ = await site.connect()
        assert await ended(reader)


async def test_the_second_head_of_a_connection_has_a_deadline_too() -> None:
    async with open_site(head_seconds=2, idle_seconds=60) as site:
        reader, writer = await site.request(GET)
        assert await head_of(reader) == b"HTTP/1.1 200 OK\r\n"
        writer.write(HALF_HEAD)
        assert await ended(reader)


async def test_a_body_that_does_not_end_is_cut_off() -> None:
    async with open_site(body_seconds=0.2) as site:
        reader, _ = await site.request(HEAD % 1000 + b"half")
        assert await head_of(reader) == b"HTTP/1.1 408 Request Timeout\r\n"
        assert await ended(reader)
    assert site.problems == ["late"]


async def test_a_request_that_nobody_vouches_for_has_a_deadline() -> None:
    async with open_site(request_seconds=0.2) as site:
        reader, _ = await site.request(GET.replace(b"hello", b"stuck"))
        assert await ended(reader)


async def test_who_has_logged_in_may_stay() -> None:
    async with open_site(request_seconds=2, head_seconds=2) as site:
        reader, writer = await site.request(GET.replace(b"hello", b"stream"))
        assert await head_of(reader) == b"HTTP/1.1 200 OK\r\n"
        waiting, _ = await site.connect()
        assert await ended(waiting)  # its clock was set later than the stream's would have been
        assert not reader.at_eof()
        writer.close()


async def test_half_sent_heads_displace_each_other_and_whole_ones_are_served() -> None:
    async with open_site(connections_of_address=5, head_seconds=60) as site:
        halves = [await site.request(HALF_HEAD) for _ in range(20)]
        reader, writer = await site.request(GET)
        assert await head_of(reader) == b"HTTP/1.1 200 OK\r\n"
        gone = [await ended(reader) for reader, _ in halves[:15]]
        assert all(gone)
        writer.close()


async def test_where_all_are_at_work_the_next_one_is_refused() -> None:
    async with open_site(connections=3, request_seconds=60) as site:
        for _ in range(3):
            await site.request(HEAD % 10)
        await eventually(lambda: site.reading == 3, what="three are at work")
        reader, _ = await site.connect()
        assert await ended(reader)


async def test_streams_of_who_has_logged_in_do_not_use_up_their_address() -> None:
    async with open_site(connections_of_address=2) as site:
        streams = [await site.request(GET.replace(b"hello", b"stream")) for _ in range(2)]
        for reader, _ in streams:
            await head_of(reader)
        for _ in range(3):
            reader, writer = await site.request(GET)
            assert await head_of(reader) == b"HTTP/1.1 200 OK\r\n"
            writer.close()
        assert not any(reader.at_eof() for reader, _ in streams)


async def test_bodies_in_flight_have_a_budget_that_comes_back() -> None:
    async with open_site(bodies=MIB, bodies_of_address=MIB, body_seconds=60) as site:
        budget = site.app[BODIES]
        _, first = await site.request(HEAD % MIB + bytes(MIB - 1000))
        await eventually(lambda: budget.used == MIB - 1000, what="the first body is held")
        reader, _ = await site.request(HEAD % 5000 + bytes(5000))
        assert await head_of(reader) == b"HTTP/1.1 503 Service Unavailable\r\n"
        first.close()
        await eventually(lambda: budget.used == 0, what="the budget is back")
        reader, _ = await site.request(HEAD % 5000 + bytes(5000))
        assert await head_of(reader) == b"HTTP/1.1 200 OK\r\n"


async def test_a_fresh_address_is_served_while_strangers_hold_all_room_for_bodies() -> None:
    """As GitHub's delivery has to be, whatever half-sent bodies of how many addresses wait."""
    async with open_site(bodies=MIB, bodies_of_address=MIB, body_seconds=60) as site:
        held = MIB // 16
        for number in range(16):
            await site.request(HEAD % MIB + bytes(held), f"127.0.1.{1 + number}")
        await eventually(lambda: site.app[BODIES].used == MIB, what="strangers hold all of it")

        reader, _ = await site.request(HEAD % 5000 + bytes(5000), "127.0.2.1")
        assert await head_of(reader) == b"HTTP/1.1 200 OK\r\n"
        await eventually(lambda: site.problems == ["no_room"], what="one of them made room")
        assert site.app[BODIES].used == MIB - held


async def test_who_holds_most_gets_no_more_at_the_cost_of_others() -> None:
    async with open_site(bodies=MIB, bodies_of_address=MIB, body_seconds=60) as site:
        for number in range(4):
            await site.request(HEAD % MIB + bytes(MIB // 4), f"127.0.1.{1 + number}")
        await eventually(lambda: site.app[BODIES].used == MIB, what="four hold all of it")

        reader, _ = await site.request(HEAD % 5000 + bytes(5000), "127.0.1.1")
        assert await head_of(reader) == b"HTTP/1.1 503 Service Unavailable\r\n"
        assert site.app[BODIES].used == MIB


async def test_a_fresh_address_is_served_while_strangers_hold_all_connections() -> None:
    async with open_site(connections=4, request_seconds=60, body_seconds=60) as site:
        first, _ = await site.request(HEAD % 10, "127.0.1.1")
        for number in range(3):
            await site.request(HEAD % 10, f"127.0.1.{1 + number % 2}")
        await eventually(lambda: site.reading == 4, what="all four are at work")

        reader, _ = await site.request(GET, "127.0.2.1")
        assert await head_of(reader) == b"HTTP/1.1 200 OK\r\n"
        assert await ended(first)


async def test_proven_requests_keep_their_connection_whoever_comes() -> None:
    async with open_site(connections=2, request_seconds=60) as site:
        streams = [await site.request(GET.replace(b"hello", b"stream")) for _ in range(2)]
        for reader, _ in streams:
            await head_of(reader)
        reader, _ = await site.connect("127.0.2.1")
        assert await ended(reader)
        assert not any(reader.at_eof() for reader, _ in streams)


@contextmanager
def without_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        yield
    finally:
        tracemalloc.stop()
        gc.enable()


async def test_a_cut_connection_leaves_nothing_of_its_body() -> None:
    """Without the collector: no reference cycle keeps a body."""
    async with open_site(body_seconds=60) as site:
        with without_collector():
            for number in range(8):
                _, writer = await site.request(HEAD % (4 * MIB) + bytes(3 * MIB))
                await eventually(lambda: site.app[BODIES].used == 3 * MIB, what="the body is held")
                del writer
                site.hang_up()
                await eventually(lambda n=number: len(site.problems) > n, what="it is cut")  # type: ignore[misc]
            await eventually(
                lambda: tracemalloc.get_traced_memory()[0] < 2 * MIB,
                what="less than one body is left of eight",
            )
    assert site.problems == ["cut"] * 8


async def test_a_late_body_leaves_nothing_either() -> None:
    async with open_site(body_seconds=0.2) as site:
        with without_collector():
            for number in range(4):
                reader, writer = await site.request(HEAD % (4 * MIB) + bytes(3 * MIB))
                assert await ended(reader)
                await eventually(lambda n=number: len(site.problems) > n, what="late")  # type: ignore[misc]
                del reader, writer
                site.hang_up()
            await eventually(
                lambda: tracemalloc.get_traced_memory()[0] < 2 * MIB,
                what="less than one body is left of four",
            )


async def test_a_reader_that_does_not_read_is_cut_off() -> None:
    """More than sockets hold is sent, and nothing of it is read until the connection is over."""

    async def much(_: web.Request) -> web.Response:
        return web.Response(body=bytes(32 * MIB))

    site = ServedApplication()
    site.app.router.add_get("/much", much)
    limits = HttpLimits(idle_seconds=0.3, request_seconds=0.3)
    async with serving(site.app, "127.0.0.1", 0, limits=limits) as site.port:
        with socket.create_connection(("127.0.0.1", site.port)) as client:
            client.sendall(GET.replace(b"hello", b"much"))
            poll = select.poll()
            poll.register(client, select.POLLHUP | select.POLLERR)
            await eventually(lambda: poll.poll(0), what="the server has ended the connection")


@pytest.mark.parametrize(
    "behaviour",
    [
        test_a_head_that_does_not_end_is_cut_off_although_bytes_keep_coming,
        test_half_sent_heads_displace_each_other_and_whole_ones_are_served,
        test_a_request_that_nobody_vouches_for_has_a_deadline,
        test_a_cut_connection_leaves_nothing_of_its_body,
        test_a_reader_that_does_not_read_is_cut_off,
    ],
)
def test_the_loop_of_agent_and_service_behaves_alike(
    behaviour: Callable[[], Coroutine[Any, Any, None]],
) -> None:
    """They run on uvloop, whose transports are its own."""
    uvloop.run(behaviour())
