"""The transport sends requests to an API server with deadline, throttle, observer and retries.

Every request but a stream has a deadline, waits its turn in the throttle, and is reported to the
observer. A 429 is tried again when the server asks for that; the caller decides on all other
answers. Foreign exceptions are translated.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from copy import copy
from functools import partial
from io import BytesIO

import aiohttp

from agent.kube.answer_bytes import AnswerBytes
from agent.kube.call_gate import CallGate
from agent.kube.connection_config import KubeConfigError, KubeConnection
from agent.kube.errors import read_status, refusal, refuse_redirect
from agent.kube.kube_request import KubeRequest, Observer, Query, RequestSeen
from agent.kube.request_path import check_path
from agent.kube.socks import is_socks
from agent.kube.throttle import Throttle
from agent.kube.write_fence import WriteFence
from bus.redaction import failure_text
from handlers.ports import ClusterUnreachableError

_TRIES = 4
_LONGEST_PAUSE = 5.0
_LARGE_BODY = 1024 * 1024
_LARGEST_MESSAGE = 256 * 1024
_CLOSE_SECONDS = 3.0
_HEARTBEAT_SECONDS = 30.0
LARGEST_ANSWER = 256 * 1024 * 1024
_ANSWERS = 2
"""So many times the largest answer is held of all answers and watches together."""


class Transport:
    """An open connection to one API server."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        connection: KubeConnection,
        throttle: Throttle,
        observe: Observer | None = None,
        gate: CallGate | None = None,
        largest_answer: int = LARGEST_ANSWER,
    ) -> None:
        self._largest_answer = largest_answer
        self.answer_bytes = AnswerBytes(_ANSWERS * largest_answer)
        self._gate = gate
        self._session = session
        self._connection = connection
        self._http_proxy = None if is_socks(connection.proxy) else connection.proxy
        self._throttle = throttle
        self._observe = observe
        self.impersonated = ""
        """The user as whom requests are sent; empty for the one who is logged in."""
        self.fence: WriteFence | None = None
        """What may forbid writes, asked right before each; None: nothing does."""

    def acting_as(self, user: str) -> Transport:
        """Return a transport over the same connection that sends requests as another user.

        The API server adds the groups of a ServiceAccount itself.
        """
        other = copy(self)
        other.impersonated = user
        return other

    def fenced(self, fence: WriteFence) -> Transport:
        """Return a transport over the same connection that writes while the fence is open."""
        other = copy(self)
        other.fence = fence
        return other

    @property
    def url(self) -> str:
        return self._connection.url

    async def call(self, request: KubeRequest) -> bytes:
        if self._gate is None:
            return await self._call(request)
        return await self._gate.run(partial(self._call, request))

    async def probe(self, path: str, seconds: float) -> bytes:
        """Read a path past gate and throttle, to find out whether the server answers at all."""
        request = KubeRequest(verb="get", method="GET", path=path, query={})
        try:
            async with asyncio.timeout(seconds):
                code, body, _pause = await self._once(request)
        except TimeoutError as error:
            raise ClusterUnreachableError(f"{self.url} did not answer in time") from error
        if code >= 400:
            raise refusal(code, body)
        return body

    async def _call(self, request: KubeRequest) -> bytes:
        for left in reversed(range(_TRIES)):
            async with self._throttle:
                code, body, pause = await self._once(request)
            if code < 400:
                return body
            if code != 429 or not left or pause > _LONGEST_PAUSE:
                raise refusal(code, body)
            await asyncio.sleep(pause)
        raise AssertionError("the last try returns or raises")

    @asynccontextmanager
    async def stream(
        self, request: KubeRequest, *, idle_seconds: float
    ) -> AsyncIterator[aiohttp.StreamReader]:
        """Open the body of an endless answer; `idle_seconds` seconds without a byte end it."""
        limits = aiohttp.ClientTimeout(total=None, sock_connect=10, sock_read=idle_seconds)
        async with self._open(request, limits) as answer:
            if answer.status != 200:
                raise refusal(answer.status, await self._read(answer.content))
            yield answer.content

    @asynccontextmanager
    async def websocket(
        self, path: str, query: Query, protocols: Sequence[str]
    ) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
        """Open a WebSocket; a message of more than 256 KiB ends it."""
        check_path(path)
        with _translated(self.url):
            try:
                socket = await self._session.ws_connect(
                    self.url + path,
                    params=query,
                    headers=await self._login(),
                    protocols=protocols,
                    proxy=self._connection.proxy,
                    max_msg_size=_LARGEST_MESSAGE,
                    timeout=aiohttp.ClientWSTimeout(ws_close=_CLOSE_SECONDS),
                    heartbeat=_HEARTBEAT_SECONDS,
                    server_hostname=self._connection.server_name,
                )
            except aiohttp.WSServerHandshakeError as error:
                refuse_redirect(self.url, error.status)
                raise refusal(error.status, b"") from None
        try:
            yield socket
        finally:
            await socket.close()

    async def _once(self, request: KubeRequest) -> tuple[int, bytes, float]:
        loop = asyncio.get_running_loop()
        began = loop.time()
        async with self._open(request, self._session.timeout) as answer:
            body = await self._read(answer.content)
            now = loop.time()
            if answer.status == 429:
                self._throttle.limit.overloaded(now)
            else:
                self._throttle.limit.answered(now, now - began)
            return answer.status, body, _pause(answer, body)

    @asynccontextmanager
    async def _open(
        self, request: KubeRequest, limits: aiohttp.ClientTimeout
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        loop = asyncio.get_running_loop()
        began, code = loop.time(), 0
        check_path(request.path)
        try:
            if self._session.closed:
                raise ClusterUnreachableError(f"the connection to {self.url} was closed")
            with _translated(self.url):
                headers = {**await self._login(), "Accept": request.accept}
                if request.body is not None:
                    headers["Content-Type"] = request.content_type
                self._check_fence(request)
                async with self._session.request(
                    request.method,
                    self.url + request.path,
                    params=request.query,
                    data=_payload(request.body),
                    headers=headers,
                    timeout=limits,
                    server_hostname=self._connection.server_name,
                    proxy=self._http_proxy,
                    allow_redirects=False,
                ) as answer:
                    code = answer.status
                    refuse_redirect(self.url, code)
                    yield answer
        finally:
            self._report(request, code, loop.time() - began)

    async def _login(self) -> dict[str, str]:
        """Return the headers of the user as whom requests are sent."""
        own = await self._connection.headers()
        return {**own, "Impersonate-User": self.impersonated} if self.impersonated else dict(own)

    def _check_fence(self, request: KubeRequest) -> None:
        """Refuse a late write: after the login, which may have to be renewed far away."""
        if self.fence is not None and request.method != "GET":
            self.fence.check(request.path)

    async def _read(self, content: aiohttp.StreamReader) -> bytes:
        chunks: list[bytes] = []
        size = 0
        with self.answer_bytes.share() as share:
            async for chunk in content.iter_any():
                chunks.append(chunk)
                size += len(chunk)
                share.hold(size)
                if size > self._largest_answer:
                    text = f"{self.url} sent an answer of more than {self._largest_answer} bytes"
                    raise ClusterUnreachableError(text)
            return b"".join(chunks)

    def _report(self, request: KubeRequest, code: int, seconds: float) -> None:
        if self._observe is not None:
            seen = RequestSeen(verb=request.verb, path=request.path, code=code, seconds=seconds)
            self._observe(seen)


def _payload(body: bytes | None) -> bytes | BytesIO | None:
    """Give a large body to be sent in pieces: as one, it would hold up everything else."""
    return BytesIO(body) if body is not None and len(body) >= _LARGE_BODY else body


@contextmanager
def _translated(url: str) -> Iterator[None]:
    try:
        yield
    except TimeoutError as error:
        raise ClusterUnreachableError(f"{url} did not answer in time") from error
    except KubeConfigError as error:  # a credential that cannot be renewed
        raise ClusterUnreachableError(f"{url}: {error}") from error
    except (aiohttp.ClientError, OSError) as error:
        # A proxy's refusal quotes its URL, with the password in it: not even the cause keeps it.
        raise ClusterUnreachableError(f"{url}: {failure_text(error)}") from None


def _pause(answer: aiohttp.ClientResponse, body: bytes) -> float:
    """Return the seconds that the server asks to wait, or 1."""
    if answer.status != 429:
        return 0.0
    header = answer.headers.get("Retry-After", "")
    if header.isascii() and header.isdecimal():
        return float(header)
    return read_status(body).details.retry_after or 1.0
