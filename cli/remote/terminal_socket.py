"""TerminalSocket: one shell of the service over its WebSocket, shown in a terminal here."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field

import aiohttp
import msgspec

from cli.remote.terminal import Terminal

_LONGEST = 8192
_MOST_WAITING = 4096


class ShellMessage(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What the service sends: output, or the end with the exit code or a reason."""

    type: str
    text: str = ""
    exit_code: int | None = None
    reason: str = ""


@dataclass(slots=True, kw_only=True)
class TerminalSocket:
    socket: aiohttp.ClientWebSocketResponse
    terminal: Terminal
    _waiting: asyncio.Queue[dict[str, object]] = field(init=False)

    def __post_init__(self) -> None:
        self._waiting = asyncio.Queue(_MOST_WAITING)

    def typed(self, text: str) -> None:
        """Take what was typed; an empty text, the end of the input, is Ctrl-D for the shell."""
        for start in range(0, len(text), _LONGEST):
            self._put({"type": "input", "text": text[start : start + _LONGEST]})
        if not text:
            self._put({"type": "input", "text": "\x04"})

    def resized(self, columns: int, rows: int) -> None:
        self._put({"type": "size", "columns": columns, "rows": rows})

    async def run(self) -> ShellMessage:
        """Copy both ways; return the message with which the shell ended."""
        async with asyncio.TaskGroup() as group:
            sending = group.create_task(self._send(), name="input of a shell")
            ended = await self._receive()
            sending.cancel()
        return ended

    def _put(self, message: dict[str, object]) -> None:
        """A flood of keys that nobody takes is dropped, as a terminal does."""
        with suppress(asyncio.QueueFull):
            self._waiting.put_nowait(message)

    async def _send(self) -> None:
        while True:
            message = await self._waiting.get()
            with suppress(aiohttp.ClientError, ConnectionError):  # `_receive` says how it ended
                await self.socket.send_str(msgspec.json.encode(message).decode())

    async def _receive(self) -> ShellMessage:
        async for message in self.socket:
            if message.type is not aiohttp.WSMsgType.TEXT:
                continue
            found = msgspec.json.decode(message.data, type=ShellMessage)
            if found.type == "end":
                return found
            self.terminal.write(found.text)
        return ShellMessage(type="end", reason="the connection to the service was lost")
