"""A SOCKS5 server for tests: it relays to one place, whatever name it is asked for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field


@dataclass(kw_only=True)
class SocksServer:
    """`behind` is what it reaches; with a login it asks for exactly that one."""

    behind: tuple[str, int]
    login: tuple[str, str] | None = None
    answer: int = 0
    asked: list[tuple[str, int]] = field(default_factory=list)
    port: int = 0

    @asynccontextmanager
    async def open(self) -> AsyncIterator[SocksServer]:
        tasks: set[asyncio.Task[None]] = set()

        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.create_task(self._serve(reader, writer), name="socks")
            tasks.add(task)
            task.add_done_callback(tasks.discard)

        server = await asyncio.start_server(accept, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            for task in tuple(tasks):
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            try:
                if await self._greeted(reader, writer):
                    await self._relay(reader, writer)
            finally:
                writer.close()

    async def _greeted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        methods = await reader.readexactly((await reader.readexactly(2))[1])
        method = 2 if self.login else 0
        if method not in methods:
            method = 0xFF
        writer.write(bytes([5, method]))
        if method != 2:
            return method == 0
        await reader.readexactly(1)
        user = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
        password = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
        good = (user, password) == self.login
        writer.write(bytes([1, 0 if good else 1]))
        return good

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        kind = (await reader.readexactly(4))[3]
        size = 4 if kind == 1 else 16 if kind == 4 else (await reader.readexactly(1))[0]
        raw = await reader.readexactly(size)
        name = raw.decode() if kind == 3 else ".".join(str(part) for part in raw)
        self.asked.append((name, int.from_bytes(await reader.readexactly(2), "big")))
        # The bound address as a name: the longest form, which a client has to skip exactly.
        writer.write(bytes([5, self.answer, 0, 3, 5]) + b"proxy" + b"\x00\x00")
        if self.answer:
            return
        target_reader, target_writer = await asyncio.open_connection(*self.behind)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(_pipe(reader, target_writer), name="socks-up")
                group.create_task(_pipe(target_reader, writer), name="socks-down")
        finally:
            target_writer.close()


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while part := await reader.read(65536):
        writer.write(part)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()
