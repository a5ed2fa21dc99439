"""A link over a WebSocket: text frames of JSON, limited in size and in time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import aiohttp
import msgspec
import structlog

from agent.bridge.link import Link, LinkLostError
from agent.bridge.outside import Outside, described, refused
from bus.link import MAX_FRAME, PROOF_HEADER, DownFrame, UpFrame

log = structlog.get_logger()

_SEND_SECONDS = 20.0
_CLOSE_SECONDS = 3.0
_DECODER: msgspec.json.Decoder[DownFrame] = msgspec.json.Decoder(DownFrame)
_ENDED = (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSING, aiohttp.WSMsgType.CLOSED)


@dataclass(slots=True)
class WebSocketLink:
    socket: aiohttp.ClientWebSocketResponse
    _sending: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def send(self, frame: UpFrame) -> None:
        data = msgspec.json.encode(frame)
        if len(data) > MAX_FRAME:
            raise LinkLostError(f"a frame of {len(data)} bytes, at most {MAX_FRAME}")
        try:
            async with self._sending, asyncio.timeout(_SEND_SECONDS):
                await self.socket.send_str(data.decode())
        except TimeoutError as error:
            raise LinkLostError("the link takes nothing any more") from error
        except (aiohttp.ClientError, OSError, RuntimeError) as error:
            raise LinkLostError(f"the link is over: {described(error)}") from error

    async def receive(self) -> DownFrame:
        while True:
            data = await self._next()
            try:
                return _DECODER.decode(data)
            except msgspec.ValidationError as error:
                log.warning("frame of another version left out", reason=str(error)[:200])
            except (msgspec.DecodeError, RecursionError) as error:
                raise LinkLostError("what came is no frame") from error

    async def _next(self) -> str:
        try:
            message = await self.socket.receive()
        except (aiohttp.ClientError, OSError) as error:
            raise LinkLostError(f"the link is over: {described(error)}") from error
        if message.type is aiohttp.WSMsgType.TEXT:
            return str(message.data)
        if message.type in _ENDED:
            reason = str(message.extra or "")[:200] or f"code {self.socket.close_code}"
            raise LinkLostError(f"the service closed the link: {reason}")
        raise LinkLostError(f"the link is over: {message.type.name}")


@asynccontextmanager
async def websocket(way: Outside, token: str, proof: str = "") -> AsyncIterator[Link]:
    """By the https URL, so that HTTPS_PROXY applies."""
    headers = {"Authorization": f"Bearer {token}"}
    if proof:
        headers[PROOF_HEADER] = proof
    try:
        socket = await way.session.ws_connect(
            way.place.path(""),
            headers=headers,
            max_msg_size=MAX_FRAME,
            timeout=aiohttp.ClientWSTimeout(ws_close=_CLOSE_SECONDS),
        )
    except aiohttp.WSServerHandshakeError as error:
        after = error.headers.get("Retry-After", "") if error.headers else ""
        raise refused(error.status, after) from error
    except (TimeoutError, aiohttp.ClientError, OSError) as error:
        raise LinkLostError(f"{way.place.url}: {described(error)}") from error
    try:
        yield WebSocketLink(socket)
    finally:
        await socket.close()
