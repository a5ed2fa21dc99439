"""A proxy with CONNECT, and TLS in front of a server: bytes are handed on as they come."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

Place = tuple[str, int]


def _as_asked(host: str, port: int) -> Place:
    return host, port


class Proxy:
    def __init__(self, place: Callable[[str, int], Place]) -> None:
        self.asked: list[str] = []
        self.port = 0
        self._place = place

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.asked.append(head.splitlines()[0])
        host, _, port = head.split()[1].rpartition(":")
        upstream_reader, upstream_writer = await asyncio.open_connection(
            *self._place(host, int(port))
        )
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(_copy(reader, upstream_writer))
            tasks.create_task(_copy(upstream_reader, writer))


@asynccontextmanager
async def connect_proxy(
    place: Callable[[str, int], Place] = _as_asked,
) -> AsyncIterator[Proxy]:
    """`place`: where a name and port of the internet are on this machine."""
    proxy = Proxy(place)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()


@asynccontextmanager
async def refusing_proxy() -> AsyncIterator[int]:
    """A proxy on this port that refuses everybody."""

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]


@asynccontextmanager
async def behind_tls(context: ssl.SSLContext, port: int, at: int = 0) -> AsyncIterator[int]:
    """The port where `port` of this machine is spoken to by TLS: `at`, or a free one."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream_reader, upstream_writer = await asyncio.open_connection("127.0.0.1", port)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(_copy(reader, upstream_writer))
            tasks.create_task(_copy(upstream_reader, writer))

    server = await asyncio.start_server(serve, "127.0.0.1", at, ssl=context)
    try:
        yield int(server.sockets[0].getsockname()[1])
    finally:
        server.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()
