"""LoginCalls are the requests by which a host is asked for a login.

They go to https only, over the proxy of the Secret, follow no redirect, and read a bounded answer.
The client certificate of the Secret, and its word not to verify the server, count for the host of
the repository itself and for no other.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import aiohttp

from agent.git.client_tls import tls_context
from agent.git.server_trust import ServerTrust
from agent.proxies import proxy_of_secret
from bus.address import AddressError, Origin
from bus.redaction import failure_text

_LIMITS = aiohttp.ClientTimeout(total=15, sock_connect=5)
_LARGEST = 1024 * 1024
_NEXT = "next"


class LoginCallError(Exception):
    """The host could not be asked; the message says why, for a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginAnswer:
    status: int
    body: bytes = field(repr=False)
    following: str = ""
    """The URL of the next page, where the answer has several."""
    clock_ahead: float = 0.0
    """Seconds by which this machine's clock is ahead of the host's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerAccess:
    """What the Secret of a repository says about the way to servers."""

    origin: Origin
    """Of the repository."""
    insecure: bool = False
    proxy: str = field(default="", repr=False)
    no_proxy: str = ""
    certificate: str = field(default="", repr=False)
    key: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginCalls:
    access: ServerAccess
    trust: ServerTrust

    async def get(self, url: str, headers: Mapping[str, str]) -> LoginAnswer:
        return await self._call("GET", url, headers, None)

    async def post(
        self, url: str, headers: Mapping[str, str], form: Mapping[str, str] | None = None
    ) -> LoginAnswer:
        """Send a form, or nothing; raises LoginCallError."""
        return await self._call("POST", url, headers, form)

    async def _call(
        self, method: str, url: str, headers: Mapping[str, str], form: Mapping[str, str] | None
    ) -> LoginAnswer:
        origin = _origin_of(url)
        try:
            tls = await asyncio.to_thread(self._tls, url, origin)
            async with (
                aiohttp.ClientSession(
                    cookie_jar=aiohttp.DummyCookieJar(), timeout=_LIMITS
                ) as session,
                session.request(
                    method,
                    url,
                    headers={"Accept": "application/json", **headers},
                    data=dict(form) if form else None,
                    ssl=tls,
                    proxy=proxy_of_secret(url, self.access.proxy, self.access.no_proxy),
                    allow_redirects=False,
                ) as answer,
            ):
                return await _read(answer)
        except TimeoutError:
            raise LoginCallError(f"{origin} did not answer within {_LIMITS.total} s") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise LoginCallError(f"{origin} cannot be asked: {failure_text(error)}") from None

    def _tls(self, url: str, origin: Origin) -> ssl.SSLContext:
        """Blocking: reads certificates."""
        authority, access = self.trust.authority(url), self.access
        if origin.host != access.origin.host:
            return tls_context(authority)
        return tls_context(
            authority, insecure=access.insecure, certificate=access.certificate, key=access.key
        )


def _origin_of(url: str) -> Origin:
    scheme, _, rest = url.partition("://")
    try:
        origin = Origin.parse(scheme, rest.partition("/")[0])
    except AddressError as error:
        raise LoginCallError(f"{url[:200]!r} is no address ({error})") from error
    if origin.scheme != "https":
        raise LoginCallError(f"{str(origin)[:200]!r} is asked for no login: expected https")
    return origin


async def _read(answer: aiohttp.ClientResponse) -> LoginAnswer:
    body = bytearray()
    async for chunk in answer.content.iter_any():
        body += chunk
        if len(body) > _LARGEST:
            raise LoginCallError(f"{answer.host} answers with more than {_LARGEST} bytes")
    link = answer.links.get(_NEXT)
    following = link.get("url") if link is not None else None
    return LoginAnswer(
        status=answer.status,
        body=bytes(body),
        following=str(following) if following else "",
        clock_ahead=_ahead(answer.headers.get("Date", "")),
    )


def _ahead(written: str) -> float:
    try:
        theirs = parsedate_to_datetime(written)
    except (ValueError, TypeError):
        return 0.0
    theirs = theirs if theirs.tzinfo else theirs.replace(tzinfo=UTC)
    return (datetime.now(UTC) - theirs).total_seconds()
