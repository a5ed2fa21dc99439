"""The client's address is read from X-Forwarded-For, of trusted proxies only.

Anybody may send the header, so it counts only where the connection comes from a trusted proxy; and
of its addresses, read from the nearest on, the first that is no trusted proxy is the caller's.
What stands further left was written by the caller. After this the address of a request is what the
audit, the limits and the sessions see of it, wherever they look.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from aiohttp import web
from aiohttp.typedefs import Middleware

Network = IPv4Network | IPv6Network
HEADER = "X-Forwarded-For"
_MOST_HOPS = 32
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def caller_address(peer: str, forwarded: str, trusted: Sequence[Network]) -> str:
    """`peer`: the other end of the connection; `forwarded`: the header, all of its lines."""
    found = peer
    for hop in [*reversed(forwarded.split(",")[-_MOST_HOPS:])] if forwarded else ():
        if not is_trusted(found, trusted):
            break
        address = _address(hop)
        if address is None:
            break
        found = str(address)
    return found


def forwarded(trusted: Sequence[Network]) -> Middleware:
    @web.middleware
    async def believe(request: web.Request, handler: _Handler) -> web.StreamResponse:
        peer, lines = request.remote or "", request.headers.getall(HEADER, [])
        address = caller_address(peer, ",".join(lines), trusted) if trusted else peer
        return await handler(request if address == peer else request.clone(remote=address))

    return believe


def is_trusted(text: str, trusted: Sequence[Network]) -> bool:
    """Say whether the address is that of a trusted proxy."""
    address = _address(text)
    return address is not None and any(address in network for network in trusted)


def _address(text: str) -> IPv4Address | IPv6Address | None:
    """Also with a port, as some proxies write it."""
    plain = text.strip()
    if plain.startswith("["):
        plain = plain[1:].partition("]")[0]
    elif plain.count(":") == 1:
        plain = plain.partition(":")[0]
    try:
        found = ip_address(plain)
    except ValueError:
        return None
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return mapped or found
