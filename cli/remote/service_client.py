"""Client of the service's REST API.

One session of HTTP per command, each request with a deadline, no redirects: what proves who we are
goes to the service one logged in to and nowhere else. A command to an agent carries an
Idempotency-Key, so it is safe to send it again when the answer was lost.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import msgspec

from bus.identity import new_id
from bus.redaction import failure_text
from cli.output import Exit
from cli.remote.contexts import SavedLogin, ServiceContext
from cli.remote.errors import ServiceError, error_of

API = "/api/v1"
COOKIES = ("__Host-gitops_session", "gitops_session")
"""Names of the session's cookie: over HTTPS, and for loopback without it."""
_PAGE = 500
_TRIES = 3
_TIMEOUT = aiohttp.ClientTimeout(total=60, sock_connect=10)
_STREAM = aiohttp.ClientTimeout(total=None, sock_connect=10, sock_read=60)
_CLOSE_SECONDS = 3.0
_HEARTBEAT = 30.0
_LINE = 1 << 22
"""Bytes that one line of a stream may have."""

Query = Mapping[str, str | int | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceClient:
    """Client of the service's REST API, with the credential of a context."""

    http: aiohttp.ClientSession
    context: ServiceContext

    async def get(self, path: str, query: Query | None = None) -> Any:
        return await self._json("GET", path, query=query)

    async def post(self, path: str, body: object = None) -> Any:
        return await self._json("POST", path, body=body)

    async def order(
        self,
        path: str,
        body: object = None,
        *,
        method: str = "POST",
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """Send a command; it is sent again where the answer was lost, and carried out once."""
        headers = {**(headers or {}), "Idempotency-Key": new_id()}
        for left in reversed(range(_TRIES)):
            try:
                return await self._json(method, path, body=body, headers=headers)
            except ServiceUnreachableError:
                if not left:
                    raise
        raise AssertionError

    async def text(self, path: str, query: Query | None = None) -> str:
        async with self.open(path, query) as response:
            return await response.text()

    async def pages(
        self, path: str, query: Query | None = None, most: int | None = None
    ) -> AsyncIterator[dict[str, Any]]:
        """Read every item of a list, or the first ones."""
        cursor, left = None, most
        while left is None or left > 0:
            limit = _PAGE if left is None else min(_PAGE, left)
            page = await self.get(path, {**(query or {}), "limit": limit, "cursor": cursor})
            for item in page["items"]:
                yield item
            cursor, left = page["next"], None if left is None else left - len(page["items"])
            if cursor is None:
                return

    @asynccontextmanager
    async def open(
        self, path: str, query: Query | None = None, headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Open an answer that is read as it comes, however long it takes."""
        with _translated(self.context.url):
            async with self.http.get(
                API + path,
                params=_parameters(query),
                headers=headers,
                timeout=_STREAM,
                allow_redirects=False,
            ) as response:
                await _check(response)
                yield response

    @asynccontextmanager
    async def websocket(
        self, path: str, query: Query | None = None
    ) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
        """Open a WebSocket; where it is refused, the same request without one says why."""
        limits = aiohttp.ClientWSTimeout(ws_close=_CLOSE_SECONDS)
        with _translated(self.context.url):
            try:
                socket = await self.http.ws_connect(
                    API + path, params=_parameters(query), timeout=limits, heartbeat=_HEARTBEAT
                )
            except aiohttp.WSServerHandshakeError as e:
                await self.get(path, query)
                raise ServiceError(f"the service opens no WebSocket (status {e.status})") from e
            async with socket:
                yield socket

    async def login(self, name: str, password: str) -> tuple[Any, str]:
        """Log in; return the answer and the cookie of the session."""
        body = {"name": name, "password": password}
        with _translated(self.context.url):
            async with self.http.post(f"{API}/login", json=body, allow_redirects=False) as response:
                await _check(response)
                found = (response.cookies.get(name) for name in COOKIES)
                cookie = next((it for it in found if it is not None), None)
                answer = _decoded(await response.read())
        if cookie is None:
            raise ServiceError("the service opened no session: is this its URL?")
        return answer, cookie.value

    async def _json(
        self,
        method: str,
        path: str,
        *,
        query: Query | None = None,
        body: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        sent: dict[str, Any] = {} if method == "GET" else {"json": body if body is not None else {}}
        with _translated(self.context.url):
            async with self.http.request(
                method,
                API + path,
                params=_parameters(query),
                headers=headers,
                allow_redirects=False,
                **sent,
            ) as response:
                await _check(response)
                return _decoded(await response.read())


class ServiceUnreachableError(ServiceError):
    """The service did not answer: it may have received the request or not."""


@asynccontextmanager
async def open_service_client(context: ServiceContext) -> AsyncIterator[ServiceClient]:
    async with aiohttp.ClientSession(
        context.url,
        timeout=_TIMEOUT,
        headers=proof(context),
        cookie_jar=aiohttp.DummyCookieJar(),
        connector=aiohttp.TCPConnector(ssl=_trusted(context)),
        trust_env=True,
        read_bufsize=_LINE,
    ) as http:
        yield ServiceClient(http=http, context=context)


def proof(context: ServiceContext) -> dict[str, str]:
    """Make the headers that authenticate; empty before the login."""
    if not context.secret:
        return {}
    if context.login is SavedLogin.TOKEN:
        return {"Authorization": f"Bearer {context.secret}"}
    return {
        "Cookie": "; ".join(f"{name}={context.secret}" for name in COOKIES),
        "X-CSRF-Token": context.csrf,
        "Origin": context.url,
    }


def _trusted(context: ServiceContext) -> ssl.SSLContext | bool:
    if not context.ca_file:
        return True
    try:
        return ssl.create_default_context(cafile=context.ca_file)
    except OSError as e:
        raise ServiceError(f"{context.ca_file}: no certificates there", Exit.BAD_INPUT) from e


@contextmanager
def _translated(url: str) -> Iterator[None]:
    """Translate failures of the network into ServiceError."""
    try:
        yield
    except TimeoutError as e:
        raise ServiceUnreachableError(f"{url} does not answer in time. Try again.") from e
    except aiohttp.ClientError as e:
        raise ServiceUnreachableError(f"{url} cannot be reached: {_why(e)}") from None


def _why(error: aiohttp.ClientError) -> str:
    match error:
        case aiohttp.ClientConnectorCertificateError():
            return "its certificate is not trusted. Name its authority at login: --ca-file FILE"
        case aiohttp.ClientConnectorError():
            return error.os_error.strerror or type(error.os_error).__name__
        case _:
            return failure_text(error)


async def _check(response: aiohttp.ClientResponse) -> None:
    if 300 <= response.status < 400:
        address = response.headers.get("Location", "another address")
        raise ServiceError(f"the service redirects to {address}. Log in there: gitops login URL")
    if response.status >= 400:
        raise error_of(response.status, await response.content.read(1 << 16))


def _decoded(raw: bytes) -> Any:
    try:
        return msgspec.json.decode(raw) if raw else None
    except msgspec.DecodeError as e:
        raise ServiceError("the answer is not JSON: is this the URL of a GitOps service?") from e


def _parameters(query: Query | None) -> dict[str, str]:
    return {name: str(value) for name, value in (query or {}).items() if value not in (None, "")}
