"""The one client of the service for requests to addresses that customers name.

Each connection is judged by the address that the socket is about to connect to, after the name was
resolved: a name that means another address a second later gains nothing. Redirects are not
followed, cookies and proxies of the environment are not used, and nothing of an answer but its
status is read, so that a customer cannot look at what answers inside.
"""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from ipaddress import ip_address
from typing import Any

import aiohttp
import msgspec
from aiohttp.abc import AbstractResolver

from service.outgoing.target import NOT_PUBLIC, AddressPolicy, InvalidTargetError, parse_target

SECONDS = 10.0
LARGEST_BODY = 1 << 20
_CONNECTIONS = 200
_PER_HOST = 4
_HEADS = 8190
"""Bytes of one header line of an answer."""


class ForbiddenAddressError(OSError):
    """The address of a connection is neither public nor in a network that the operator allowed."""


class OutgoingAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a request; `words` are the status or ours, never what the receiver wrote."""

    delivered: bool
    words: str


class OutgoingClient:
    """The client of outgoing requests, from `open_client`."""

    def __init__(self, http: aiohttp.ClientSession, policy: AddressPolicy) -> None:
        self._http = http
        self._policy = policy

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> OutgoingAnswer:
        """Post a body; only 2xx is delivered, and a failure of any kind is an answer."""
        if len(body) > LARGEST_BODY:
            return _failed(f"the body has {len(body)} bytes, more than {LARGEST_BODY}")
        try:
            target = parse_target(url, self._policy)
            async with self._http.post(
                target, data=body, headers=headers, allow_redirects=False
            ) as response:
                response.close()  # the body is nobody's to read
                return _answered(response.status)
        except InvalidTargetError as e:
            return _failed(str(e))
        except TimeoutError:
            return _failed(f"no answer within {SECONDS:g} s")
        except (aiohttp.ClientError, OSError, ValueError) as e:
            return _failed(_words(e))


@asynccontextmanager
async def open_client(
    policy: AddressPolicy, resolver: AbstractResolver | None = None
) -> AsyncIterator[OutgoingClient]:
    """Open the client; `resolver`: how names become addresses; None: as the system does."""
    connector = aiohttp.TCPConnector(
        resolver=resolver or aiohttp.ThreadedResolver(),
        use_dns_cache=False,
        limit=_CONNECTIONS,
        limit_per_host=_PER_HOST,
        force_close=True,  # one judgement a request: an open connection keeps no old one
        socket_factory=_judging(policy),
    )
    async with aiohttp.ClientSession(
        connector=connector,
        timeout=aiohttp.ClientTimeout(total=SECONDS),
        cookie_jar=aiohttp.DummyCookieJar(),
        max_line_size=_HEADS,
        max_field_size=_HEADS,
        trust_env=False,
    ) as http:
        yield OutgoingClient(http, policy)


def _judging(policy: AddressPolicy) -> Any:
    """Make the maker of a connection's socket, which judges the address that it connects to."""

    def make(info: tuple[Any, ...]) -> socket.socket:
        family, kind, protocol, _, target = info
        if not policy.permits(ip_address(str(target[0]).partition("%")[0])):
            raise ForbiddenAddressError(NOT_PUBLIC)
        return socket.socket(family, kind, protocol)

    return make


def _answered(status: int) -> OutgoingAnswer:
    if 200 <= status < 300:
        return OutgoingAnswer(delivered=True, words=f"{status}")
    if 300 <= status < 400:
        return _failed(f"{status}: redirects are not followed")
    return _failed(f"{status}: the receiver did not accept it")


def _failed(words: str) -> OutgoingAnswer:
    return OutgoingAnswer(delivered=False, words=words)


def _words(error: BaseException) -> str:
    causes = (error, error.__cause__, error.__context__, getattr(error, "os_error", None))
    if any(isinstance(it, ForbiddenAddressError) for it in causes):
        return NOT_PUBLIC
    return f"no connection: {type(error).__name__}"
