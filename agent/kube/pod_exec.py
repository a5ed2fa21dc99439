"""PodExec: a command that runs in a container, with a terminal, over one WebSocket."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import quote

import aiohttp

from agent.kube.client import KubeClient
from agent.kube.exec_channels import (
    PROTOCOLS,
    V5,
    ExecEnd,
    close_message,
    input_message,
    read_message,
    size_message,
)
from bus.redaction import failure_text
from handlers.ports import ClusterUnreachableError

_SEND_SECONDS = 20.0
_CLOSE_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class PodExec:
    socket: aiohttp.ClientWebSocketResponse

    async def read(self) -> bytes | ExecEnd:
        """Return some output, or how the command ended; raises ClusterUnreachableError."""
        try:
            message = await self.socket.receive()
        except (aiohttp.ClientError, OSError) as error:
            raise _cut(failure_text(error)) from None
        match message.type:
            case aiohttp.WSMsgType.BINARY:
                return read_message(message.data)
            case aiohttp.WSMsgType.TEXT:
                return read_message(message.data.encode())
            case _:
                raise _cut(f"closed with code {self.socket.close_code}")

    async def write(self, data: bytes) -> None:
        await self._send(input_message(data))

    async def resize(self, columns: int, rows: int) -> None:
        await self._send(size_message(columns, rows))

    async def _send(self, message: bytes) -> None:
        """Send the message; of a connection that is cut `read` tells, and how the command ended."""
        try:
            async with asyncio.timeout(_SEND_SECONDS):
                await self.socket.send_bytes(message)
        except TimeoutError as error:
            text = f"the container took no input for {_SEND_SECONDS:g} s"
            raise ClusterUnreachableError(text) from error
        except (aiohttp.ClientError, OSError, RuntimeError):
            return

    async def close_input(self) -> None:
        """End the command's input, so that a shell ends; a lost connection has ended it too."""
        if self.socket.protocol != V5:
            return
        with contextlib.suppress(TimeoutError, aiohttp.ClientError, OSError, RuntimeError):
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self.socket.send_bytes(close_message())


@asynccontextmanager
async def open_pod_exec(
    client: KubeClient, namespace: str, pod: str, container: str, command: str
) -> AsyncIterator[PodExec]:
    """Run `command` in the container with a terminal; raises as any call of the client does."""
    path = f"/api/v1/namespaces/{quote(namespace, safe='')}/pods/{quote(pod, safe='')}/exec"
    query = {
        "container": container,
        "command": command,
        "stdin": "true",
        "stdout": "true",
        "tty": "true",
    }
    async with client.websocket(path, query, PROTOCOLS) as socket:
        pod_exec = PodExec(socket)
        try:
            yield pod_exec
        finally:
            await pod_exec.close_input()


def _cut(why: str) -> ClusterUnreachableError:
    return ClusterUnreachableError(f"the connection to the container was cut: {why}")
