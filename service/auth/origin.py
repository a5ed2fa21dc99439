"""Did this page of ours send the request? Pure.

A browser adds the cookie to whatever any page sends, so a request that changes something and comes
by cookie must show two things another page cannot: our own Origin, and the session's CSRF word.
Requests with a token need neither: no browser adds it by itself.

What our own Origin is, the operator says: `public_url`. Without it the service is used on the same
machine or through a forwarded port, and only an Origin of loopback that equals the Host counts: any
other Host is a name that somebody else may have pointed here (DNS rebinding).
"""

from __future__ import annotations

from ipaddress import ip_address

import msgspec
from yarl import URL


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """As browsers compare it: a default port is the same as none."""

    scheme: str
    host: str
    port: int


SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
REMEDY = "Set GITOPS_SERVICE_PUBLIC_URL to the address that browsers open."


def is_own(origin: str | None, host: str, public_url: str) -> bool:
    """`host`: the request's Host header."""
    given = _origin(origin or "")
    if given is None:
        return False
    if public_url:
        return given == _origin(public_url)
    return given == _origin(f"http://{host}") and _is_loopback(given.host)


def _origin(text: str) -> Origin | None:
    try:
        url = URL(text)
        host, port = url.raw_host, url.port
    except ValueError:
        return None
    if url.scheme not in ("http", "https") or not host or not port:
        return None
    return Origin(scheme=url.scheme, host=host.lower(), port=port)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
