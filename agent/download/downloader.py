"""Downloader fetches files over HTTP, within limits, and gives a login to one server only.

Redirects are followed by hand: the login and the client certificate go to the origin of the
repository and to no other, and never from https to http. Bodies go to disk as they come, hashed on
the way, and end at their limit. No cookie, proxy or .netrc of the environment is taken along, but
the proxy that the environment or the Secret names.
"""

from __future__ import annotations

import asyncio
import hashlib
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import aiohttp
import msgspec
from yarl import URL

from agent.download.failures import DownloadServer
from agent.download.local_addresses import RemoteResolver, proxy_hosts
from agent.git.client_tls import tls_context
from agent.git.credentials import GitCredential
from agent.git.server_trust import ServerTrust
from agent.proxies import proxy_of_secret
from bus.address import AddressError, Origin
from bus.identity import Digest
from bus.local_address import is_local, leads_inside
from bus.redaction import failure_text
from handlers.ports import RepositoryError

_USER_AGENT = "plumbline"
_MOST_REDIRECTS = 5
_SECONDS = 90.0
"""Below the refresh handler's own time limit, so that a slow server is told and not just cut."""
_LIMITS = aiohttp.ClientTimeout(total=_SECONDS, sock_connect=10, sock_read=30)
_REDIRECTS = (301, 302, 303, 307, 308)
_LONGEST_WAIT = 3600
_UNAUTHORIZED = 401
"""A challenge of any other server is none of the repository, and is not answered."""


class DownloadAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a request; the body of a success is in the file that was asked for."""

    status: int
    headers: Mapping[str, str]
    """By names in lower case."""
    digest: Digest
    """Of the body."""
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadRequest:
    url: URL
    into: Path
    limit: int
    what: str
    """How an error names the file."""
    authorization: str = field(default="", repr=False)
    """The value of the header, for the origin of the repository."""
    further: Origin | None = None
    """Another server that is given the header; no other part of the Secret is for it."""
    headers: Mapping[str, str] = field(default_factory=dict)
    first_headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """For the server of `url` only, and for none that it redirects to."""
    body: bytes = b""
    """What is posted; without it the file is asked for. No redirect is followed with it."""
    expected: tuple[int, ...] = (200,)
    """Statuses that are returned; any other is an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Downloader:
    """Make it with `open_downloader`."""

    session: aiohttp.ClientSession
    server: DownloadServer
    origin: Origin
    """The only server that is given a login."""
    trust: ServerTrust

    async def get(self, request: DownloadRequest) -> DownloadAnswer:
        """Fetch a file, over redirects; raises RepositoryError."""
        url = request.url
        try:
            async with asyncio.timeout(_SECONDS):
                for _ in range(_MOST_REDIRECTS + 1):
                    answer, place = await self._once(url, request)
                    if not place:
                        return answer
                    url = self._redirected(url, place, request)
        except TimeoutError:
            cause = f"{request.what} did not come within {_SECONDS:g} s"
            raise self.server.unreachable(cause) from None
        except (aiohttp.ClientError, OSError, ssl.SSLError, ValueError) as error:
            # A proxy's refusal quotes its URL with the password: not even the cause keeps it.
            raise self.server.unreachable(failure_text(error)) from None
        cause = f"{request.what} leads over more than {_MOST_REDIRECTS} redirects"
        raise self.server.hostile(cause)

    async def _once(self, url: URL, request: DownloadRequest) -> tuple[DownloadAnswer, str]:
        """Ask one server; the second value is where a redirect leads."""
        is_own = self._is_own(url)
        self._check_place(url, request)
        headers = {"User-Agent": _USER_AGENT, "Accept-Encoding": "identity", **request.headers}
        if request.authorization and (is_own or _is_at(url, request.further)):
            headers["Authorization"] = request.authorization
        if url.origin() == request.url.origin():
            headers |= request.first_headers
        credential = self.server.credential or GitCredential()
        async with self.session.request(
            "POST" if request.body else "GET",
            url,
            headers=headers,
            data=request.body or None,
            allow_redirects=False,
            timeout=_LIMITS,
            ssl=await asyncio.to_thread(self._tls, url, credential if is_own else GitCredential()),
            proxy=proxy_of_secret(str(url), credential.proxy, credential.no_proxy),
        ) as answer:
            status = answer.status
            if (
                status in _REDIRECTS
                and not request.body
                and (place := answer.headers.get("Location", ""))
            ):
                return DownloadAnswer(status=status, headers={}, digest=Digest(""), size=0), place
            if status == 429:
                raise self._overloaded(answer)
            if status not in request.expected or (status == _UNAUTHORIZED and not is_own):
                raise self.server.refused(status, request.what)
            return await self._read(answer, request), ""

    async def _read(
        self, answer: aiohttp.ClientResponse, request: DownloadRequest
    ) -> DownloadAnswer:
        digest, size = hashlib.sha256(), 0
        with request.into.open("wb") as file:
            async for chunk in answer.content.iter_any():
                size += len(chunk)
                if size > request.limit:
                    raise self.server.hostile(
                        f"{request.what} has more than the limit of {request.limit} bytes"
                    )
                digest.update(chunk)
                await self._write(file, chunk)
        if encoding := answer.headers.get("Content-Encoding", ""):
            raise self.server.hostile(f"{request.what} comes in the encoding {encoding[:20]!r}")
        return DownloadAnswer(
            status=answer.status,
            headers={name.lower(): value for name, value in answer.headers.items()},
            digest=Digest(f"sha256:{digest.hexdigest()}"),
            size=size,
        )

    async def _write(self, file: IO[bytes], chunk: bytes) -> None:
        """A full disk is our own, whatever the server sends."""
        try:
            await asyncio.to_thread(file.write, chunk)
        except OSError as error:
            raise self.server.disk_refused(error) from error

    def _redirected(self, url: URL, place: str, request: DownloadRequest) -> URL:
        led = url.join(URL(place))
        if led.scheme not in ("https", "http") or (url.scheme == "https" and led.scheme != "https"):
            raise self.server.hostile(f"{request.what} is redirected to {led.scheme[:20]!r}")
        if led.user or led.password:
            raise self.server.hostile(f"{request.what} is redirected to a URL with a login")
        return led

    def _check_place(self, url: URL, request: DownloadRequest) -> None:
        """Refuse an address of this machine or its link, unless the repository is at one."""
        host, own = url.host or "", self.server.host
        if leads_inside(host, own):
            cause = f"{request.what} leads to {host[:200]}, an address of this machine or its link"
            raise self.server.hostile(cause)

    def _overloaded(self, answer: aiohttp.ClientResponse) -> RepositoryError:
        asked = answer.headers.get("Retry-After", "")
        seconds = int(asked[:9]) if asked.isascii() and asked.isdecimal() else 60
        return OverloadedError(self.server.overloaded(min(seconds, _LONGEST_WAIT)), seconds)

    def _is_own(self, url: URL) -> bool:
        return _is_at(url, self.origin)

    def _tls(self, url: URL, credential: GitCredential) -> ssl.SSLContext | bool:
        """Blocking: reads certificates. `credential` is empty for a server that is not ours."""
        if url.scheme != "https":
            return True
        return tls_context(
            self.trust.authority(str(url)),
            insecure=credential.insecure,
            certificate=credential.certificate,
            key=credential.key,
        )


def _is_at(url: URL, origin: Origin | None) -> bool:
    try:
        return Origin.parse(url.scheme, url.authority) == origin
    except AddressError:
        return False


class OverloadedError(RepositoryError):
    """A server asks to be left alone for some seconds."""

    def __init__(self, error: RepositoryError, seconds: int) -> None:
        super().__init__(error.reason, error.message)
        self.seconds = min(seconds, _LONGEST_WAIT)


@asynccontextmanager
async def open_downloader(
    server: DownloadServer, origin: Origin, trust: ServerTrust
) -> AsyncIterator[Downloader]:
    """Open connections to one server; raises RepositoryError where its Secret is unusable."""
    credential = server.credential
    if credential and credential.problem:
        raise server.unusable(credential.problem)
    if credential and credential.proxy and not credential.proxy.startswith(("http://", "https://")):
        raise server.unusable("its proxy is none of http:// or https://")
    known = frozenset({server.host}) | proxy_hosts(credential.proxy if credential else "")
    resolver = None if is_local(server.host) else RemoteResolver(known)
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(resolver=resolver),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
    ) as session:
        yield Downloader(session=session, server=server, origin=origin, trust=trust)
