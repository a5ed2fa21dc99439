"""ServiceHttpClient: the HTTP client of the bridge, for requests and for the WebSocket of the link.

It uses HTTPS with the system's authorities or a private one, a client certificate if configured,
and the proxy of the environment (HTTPS_PROXY with CONNECT, NO_PROXY). Plain HTTP is for a service
on the same machine only, because the session's token is sent over it. The WebSocket carries JSON
text frames, limited in size and time.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import aiohttp
import msgspec
import orjson
import structlog

from agent.bridge.transport.link import AgentLink, LinkLostError, LinkRefusedError
from bus.link import MAX_FRAME, PROOF_HEADER, DownFrame, UpFrame
from bus.redaction import failure_text

log = structlog.get_logger()

T = TypeVar("T")

_ANSWER_SECONDS = 20.0
_LARGEST_ANSWER = 64 * 1024
_SEND_SECONDS = 20.0
_CLOSE_SECONDS = 3.0
_DECODER: msgspec.json.Decoder[DownFrame] = msgspec.json.Decoder(DownFrame)
_ENDED = (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSING, aiohttp.WSMsgType.CLOSED)


class _Problem(msgspec.Struct, frozen=True):
    detail: str = ""
    title: str = ""
    remedy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceAddress:
    """URL of the service, and the files that authenticate both sides."""

    url: str
    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None

    def tls(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(self.ca) if self.ca else None)
        if self.cert is not None:
            context.load_cert_chain(str(self.cert), str(self.key) if self.key else None)
        return context

    def path(self, name: str) -> str:
        return f"{self.url.rstrip('/')}/api/v1/link{name}"


@dataclass(frozen=True, slots=True)
class ServiceHttpClient:
    address: ServiceAddress
    session: aiohttp.ClientSession

    async def post(self, name: str, request: msgspec.Struct, answer: type[T]) -> T:
        """Post `request`; raises LinkRefusedError on 4xx, LinkLostError without a proper answer."""
        try:
            async with self.session.post(
                self.address.path(name),
                data=msgspec.json.encode(request),
                headers={"Content-Type": "application/json"},
                allow_redirects=False,
            ) as response:
                body = await _read(response.content)
                if response.status in {200, 201}:
                    return msgspec.json.decode(body, type=answer)
                raise refused(response.status, response.headers.get("Retry-After", ""), body)
        except msgspec.MsgspecError as error:
            raise LinkLostError(
                f"{self.address.url} gave an answer that this version cannot read"
            ) from error
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            raise LinkLostError(f"{self.address.url}: {failure_text(error)}") from None


@asynccontextmanager
async def open_service_http(address: ServiceAddress) -> AsyncIterator[ServiceHttpClient]:
    connector = aiohttp.TCPConnector(ssl=address.tls())
    timeout = aiohttp.ClientTimeout(total=_ANSWER_SECONDS, sock_connect=10)
    headers = {"User-Agent": "plumbline agent"}
    async with aiohttp.ClientSession(
        connector=connector, timeout=timeout, headers=headers, trust_env=True
    ) as session:
        yield ServiceHttpClient(address, session)


async def _read(content: aiohttp.StreamReader) -> bytes:
    body = b""
    async for chunk in content.iter_chunked(8192):
        body += chunk
        if len(body) > _LARGEST_ANSWER:
            raise LinkLostError(f"an answer of more than {_LARGEST_ANSWER} bytes")
    return body


def refused(status: int, retry_after: str, body: bytes = b"") -> LinkLostError:
    """The error for an HTTP status: most 4xx need a person; 408, 425, 429 and 5xx pass."""
    is_number = retry_after.isascii() and retry_after.isdecimal()  # isdigit() also takes "²"
    pause = float(retry_after) if is_number else 0.0
    try:
        problem = msgspec.json.decode(body or b"{}", type=_Problem)
    except msgspec.MsgspecError:
        problem = _Problem()
    request = f"{problem.detail or problem.title} {problem.remedy}".strip()[:500]
    text = f"the service answered {status}" + (f": {request}" if request else "")
    final = 400 <= status < 500 and status not in (408, 425, 429)
    return (LinkRefusedError if final else LinkLostError)(text, retry_after=pause)


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
            raise LinkLostError(f"the link took no frame for {_SEND_SECONDS:g} s") from error
        except (aiohttp.ClientError, OSError, RuntimeError) as error:
            raise LinkLostError(f"the link is over: {failure_text(error)}") from None

    async def receive(self) -> DownFrame:
        while True:
            data = await self._next()
            try:
                return _decoded(data)
            except msgspec.ValidationError as error:
                log.warning("ignored a frame of another version", reason=str(error)[:200])
            except (msgspec.DecodeError, RecursionError) as error:
                raise LinkLostError("the service sent something that is no frame") from error

    async def _next(self) -> str:
        try:
            message = await self.socket.receive()
        except (aiohttp.ClientError, OSError) as error:
            raise LinkLostError(f"the link is over: {failure_text(error)}") from None
        if message.type is aiohttp.WSMsgType.TEXT:
            return str(message.data)
        if message.type in _ENDED:
            reason = str(message.extra or "")[:200] or f"code {self.socket.close_code}"
            raise LinkLostError(f"the service closed the link: {reason}")
        raise LinkLostError(f"the link is over: {message.type.name}")


def _decoded(data: str) -> DownFrame:
    """Decode a frame; raises ValidationError also for a number of more than 64 bits.

    JSON has numbers of any size, and what arrives is logged, stored and echoed later, where nobody
    expects that a number cannot be written. So a frame is taken only if it can be.
    """
    frame = _DECODER.decode(data)
    try:
        orjson.dumps(msgspec.to_builtins(frame))
    except orjson.JSONEncodeError as error:
        raise msgspec.ValidationError(str(error)) from error
    return frame


@asynccontextmanager
async def websocket(
    http: ServiceHttpClient, token: str, proof: str = ""
) -> AsyncIterator[AgentLink]:
    """Open the WebSocket by the http(s) URL, not ws(s), so that HTTPS_PROXY applies."""
    headers = {"Authorization": f"Bearer {token}"}
    if proof:
        headers[PROOF_HEADER] = proof
    try:
        socket = await http.session.ws_connect(
            http.address.path(""),
            headers=headers,
            max_msg_size=MAX_FRAME,
            timeout=aiohttp.ClientWSTimeout(ws_close=_CLOSE_SECONDS),
        )
    except aiohttp.WSServerHandshakeError as error:
        after = error.headers.get("Retry-After", "") if error.headers else ""
        raise refused(error.status, after) from error
    except (TimeoutError, aiohttp.ClientError, OSError) as error:
        raise LinkLostError(f"{http.address.url}: {failure_text(error)}") from None
    try:
        yield WebSocketLink(socket)
    finally:
        await socket.close()
