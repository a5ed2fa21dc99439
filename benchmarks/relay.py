"""Relay stands between the agent and a server: it counts what comes back, and can be stopped."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field


@dataclass(slots=True)
class Relay:
    """A way to a server that can be stopped: then it takes connections and says nothing."""

    target: tuple[str, int]
    port: int = 0
    answered: int = 0
    """Bytes that the server has sent through here."""
    connections: int = 0
    """How many were opened through here."""
    _goes: asyncio.Event = field(default_factory=asyncio.Event)

    def stop(self) -> None:
        self._goes.clear()

    def go(self) -> None:
        self._goes.set()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Relay]:
        self.go()
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            self.go()
            server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with suppress(OSError):
            answers, asked = await asyncio.open_connection(*self.target)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._pipe(reader, asked), name="relay: asked")
                tasks.create_task(self._pipe(answers, writer, counts=True), name="relay: answered")

    async def _pipe(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, counts: bool = False
    ) -> None:
        with suppress(OSError):
            while part := await reader.read(65536):
                await self._goes.wait()
                self.answered += len(part) if counts else 0
                writer.write(part)
                await writer.drain()
        writer.close()
