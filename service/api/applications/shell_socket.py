"""ShellSocket: one WebSocket of a shell, between its reader and the task of the agent.

    reader -> messages -> link signals -> agent        agent -> stream of the task -> reader

What is typed goes no faster than the rate, and what comes no faster than the reader takes it: its
credit is given as it reads. Nothing of the content is stored here.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass

import msgspec
from aiohttp import WSMsgType, web
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from bus.link import TaskPhase, TerminalInput
from service.api.applications.shell_messages import (
    LARGEST_MESSAGE,
    ShellEnd,
    ShellOutput,
    frames_of,
    read_shell_message,
)
from service.gateway.open_shells import RENEW_SECONDS, renew_shell
from service.gateway.task_store import TaskStore
from service.gateway.task_streams import StreamPiece, TaskStreams

_INPUT_PER_SECOND = 64 * 1024
"""Characters."""
_FRAME_SECONDS = 0.02
"""The least time that a message takes, of however few characters: each is stored and sent on."""
_SEND_SECONDS = 60.0
_RESULT_SECONDS = 15.0
_END_SECONDS = 2.0
_LONGEST_SECONDS = 4 * 3600.0
_HEARTBEAT_SECONDS = 30.0
_UNREADABLE = 1007


def new_shell_socket() -> web.WebSocketResponse:
    return web.WebSocketResponse(
        max_msg_size=LARGEST_MESSAGE, compress=False, heartbeat=_HEARTBEAT_SECONDS, timeout=5.0
    )


class _ShellOver(Exception):  # noqa: N818  not an error: how the tasks of a shell end
    pass


@dataclass(slots=True, kw_only=True)
class ShellSocket:
    socket: web.WebSocketResponse
    streams: TaskStreams
    tasks: TaskStore
    agent_id: str
    task: str
    pieces: asyncio.Queue[StreamPiece]
    sent: int = 0
    """Characters of output."""
    received: int = 0
    """Characters of input."""
    _typed: int = 0
    """Frames."""

    async def run(self) -> None:
        """Copy both ways until the task ends or the reader leaves."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._read(), name=f"input of shell {self.task}")
                group.create_task(self._until_refused(), name=f"end of shell {self.task}")
                group.create_task(self._keep(), name=f"lease of shell {self.task}")
                await self._follow()
        except* (_ShellOver, ConnectionError, DBAPIError, PoolTimeoutError):
            pass  # `end` says how, from what the task says

    async def end(self, reason: str) -> ShellEnd:
        """Tell the reader how the shell ended, with `reason` where its access did, and close."""
        ended = ShellEnd(reason=reason) if reason else await self._result()
        with suppress(ConnectionError, TimeoutError):
            async with asyncio.timeout(_END_SECONDS):
                await self.socket.send_str(msgspec.json.encode(ended).decode())
        with suppress(ConnectionError, TimeoutError):
            async with asyncio.timeout(_END_SECONDS):
                await self.socket.close()
        return ended

    async def _follow(self) -> None:
        """Write the output; raises _ShellOver at its end."""
        async for piece in self.streams.follow(self.agent_id, self.task, self.pieces):
            if piece.text:
                self.sent += len(piece.text)
                await self._send(ShellOutput(text=piece.text))
        raise _ShellOver

    async def _send(self, message: ShellOutput) -> None:
        try:
            async with asyncio.timeout(_SEND_SECONDS):
                await self.socket.send_str(msgspec.json.encode(message).decode())
        except TimeoutError as error:
            raise ConnectionResetError("the reader takes nothing") from error

    async def _read(self) -> None:
        async for message in self.socket:
            if message.type is not WSMsgType.TEXT:
                break
            try:
                found = read_shell_message(message.data)
            except msgspec.MsgspecError as error:
                reason = f"expected input or size: {error}".encode()[:120]
                await self.socket.close(code=_UNREADABLE, message=reason)
                break
            await self._forward(list(frames_of(self.task, self._typed, found)))
        raise _ShellOver

    async def _forward(self, frames: list[TerminalInput]) -> None:
        for frame in frames:
            self._typed += 1
            self.received += len(frame.text)
            await self.streams.type(self.agent_id, frame)
            await asyncio.sleep(max(len(frame.text) / _INPUT_PER_SECOND, _FRAME_SECONDS))

    async def _until_refused(self) -> None:
        """A stream ends with its last piece; a refused task never has one."""
        ended = await self.tasks.result(self.task, _LONGEST_SECONDS)
        if ended is not None and ended.phase.final and ended.phase is not TaskPhase.SUCCEEDED:
            await self.pieces.put(StreamPiece(ended=True, reason=ended.message))

    async def _keep(self) -> None:
        """Renew the lease, without which another replica ends the shell."""
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            kept = True
            with suppress(DBAPIError, PoolTimeoutError):  # tried again before the lease ends
                async with self.tasks.engine.begin() as connection:
                    kept = await renew_shell(connection, self.task, self.sent, self.received)
            if not kept:
                raise _ShellOver

    async def _result(self) -> ShellEnd:
        if self.socket.closed:
            return ShellEnd(reason="the reader left")
        ended = await self.tasks.result(self.task, _RESULT_SECONDS)
        if ended is None or not ended.phase.final:
            return ShellEnd(reason="the agent does not say how the shell ended")
        body = ended.result if isinstance(ended.result, dict) else {}
        code = body.get("exitCode")
        if isinstance(code, int) and ended.phase is TaskPhase.SUCCEEDED:
            return ShellEnd(exit_code=code)
        return ShellEnd(reason=ended.message or ended.phase)
