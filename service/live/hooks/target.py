"""Where a webhook may go: nowhere inside, or customers would reach our network through us.

The address is checked where the connection is made, not only when the webhook is set up: a name may
mean something else a second later. Redirects are never followed.
"""

from __future__ import annotations

import ipaddress
import socket
from urllib.parse import urlsplit

from aiohttp import ThreadedResolver
from aiohttp.abc import AbstractResolver, ResolveResult

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_SCHEMES = ("https", "http")


class ForbiddenTargetError(OSError):
    """The host is, or resolves to, an address that is not on the public internet."""


def problem_of(url: str, *, inside: bool) -> str:
    """Why this URL cannot be a target, in words; empty where it can. No name is looked up."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return "expected an URL"
    if parts.scheme not in _SCHEMES or not host or port == 0:
        return "expected https://host/path"
    if parts.username is not None or parts.password is not None:
        return "the URL must hold no user and no password: deliveries are signed"
    if not inside and (host == "localhost" or host.endswith(".localhost") or is_inside(host)):
        return "the host is not on the public internet"
    return ""


def is_inside(host: str) -> bool:
    """Of an address; a name is none."""
    try:
        address: Address = ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return False
    inner = _inner(address)
    return not inner.is_global or inner.is_multicast


def _inner(address: Address) -> Address:
    """The IPv4 address that an IPv6 one carries."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address


class Outside(AbstractResolver):
    """Names that mean public addresses only; with `inside`, any."""

    def __init__(self, *, inside: bool) -> None:
        self._inside = inside
        self._resolver = ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = await self._resolver.resolve(host, port, family)
        if not self._inside and any(is_inside(it["host"]) for it in found):
            raise ForbiddenTargetError("the host is not on the public internet")
        return found

    async def close(self) -> None:
        await self._resolver.close()
