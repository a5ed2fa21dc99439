"""Addresses are compared in one canonical form of their scheme, host, port and path.

What two parsers may read differently is refused instead of repaired: dot segments, doubled slashes,
encoded slashes, backslashes, path parameters, queries, numbers that stand for an IPv4 address. What
no server can tell apart is folded: case of scheme and host, the root dot of a host, a default port,
percent-encoding of characters that need none, one slash at the end. The case of a path is kept.
"""

from __future__ import annotations

import re
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import NamedTuple
from urllib.parse import quote

import idna
import msgspec

DEFAULT_PORTS = {"https": 443, "http": 80, "ssh": 22, "git": 9418, "oci": 443}
"""Schemes that name a server."""

_ILLEGAL = re.compile(r"[\x00-\x20\x7f\ud800-\udfff\\<>\"^`{|}]")
_BROKEN_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_ENCODED = re.compile(r"%([0-9A-Fa-f]{2})")
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_LONGEST_HOST = 253
_LARGEST_PORT = 65_535
_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,=:@")
"""What stands in a path as it is (RFC 3986, pchar) but `;`, which some servers cut away."""
_TWO_MEANINGS = frozenset("/\\;?#\x7f") | {chr(code) for code in range(0x20)}
"""Characters that mean something else when they are encoded, to some servers."""


class AddressError(ValueError):
    """The text is no address, or two programs may understand it differently."""


class Origin(msgspec.Struct, frozen=True, order=True):
    """The server that a credential is for: another scheme, host or port is another server."""

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        """Without the port where it is the scheme's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == DEFAULT_PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}"

    @classmethod
    def parse(cls, scheme: str, authority: str) -> Origin:
        """Parse `host[:port]`, which has no user information; raises AddressError."""
        scheme = scheme.lower()
        if scheme not in DEFAULT_PORTS:
            known = ", ".join(DEFAULT_PORTS)
            raise AddressError(f"has the scheme {scheme!r}; expected one of {known}")
        host, port = _split_port(authority)
        return cls(scheme, canonical_host(host), _port(port, scheme))


class AddressParts(NamedTuple):
    scheme: str
    user: str
    """User information as it is written, a password with it."""
    authority: str
    path: str


def split_address(text: str) -> AddressParts:
    """Split `scheme://[user@]host[:port][/path]` as it is written; raises AddressError."""
    scheme, separator, rest = text.strip().partition("://")
    if not separator:
        raise AddressError("has no scheme; expected https://host/path")
    if found := _ILLEGAL.search(rest):
        raise AddressError(f"holds the character {found[0]!r}; write it percent-encoded")
    if "?" in rest or "#" in rest:
        raise AddressError("has a query or a fragment; expected scheme, host and path only")
    whole, slash, path = rest.partition("/")
    user, _, authority = whole.rpartition("@")
    if "@" in user:
        raise AddressError("has several @ before its path; encode those of the user name as %40")
    return AddressParts(scheme, user, authority, slash + path)


def canonical_host(host: str) -> str:
    """Return the host in lower case and ASCII, without the root's dot; raises AddressError."""
    if host.startswith("[") or ":" in host:
        return _ipv6(host)
    name = _ascii(host).removesuffix(".")
    labels = name.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        return _ipv4(name)
    if len(name) > _LONGEST_HOST or not all(map(_LABEL.fullmatch, labels)):
        raise AddressError(f"has the host {host!r}, which is no name of a server")
    return name


def canonical_path(path: str) -> str:
    """Return the path with a slash in front and none behind, or "" for the root.

    Raises AddressError.
    """
    segments = path.removesuffix("/").split("/")
    if segments[0]:
        raise AddressError("has a path that does not begin with a slash")
    return "/".join(["", *map(_segment, segments[1:])])


def canonical_escapes(text: str) -> str:
    """Write percent-encoding as canonical paths have it; raises AddressError."""
    if _BROKEN_PERCENT.search(text):
        raise AddressError("has a % that is followed by no two hexadecimal digits")
    if ";" in text:
        raise AddressError("has a ; in its path, which some servers cut away")
    decoded = _ENCODED.sub(_decoded, text)
    return "".join(char if char in _PLAIN or char == "%" else quote(char) for char in decoded)


def _segment(written: str) -> str:
    segment = canonical_escapes(written)
    if segment in (".", ".."):
        raise AddressError(f"has the segment {written!r} in its path; write the path it leads to")
    if not segment:
        raise AddressError("has an empty segment (//) in its path; write single slashes")
    return segment


def _decoded(match: re.Match[str]) -> str:
    char = chr(int(match[1], 16))
    if char in _TWO_MEANINGS:
        raise AddressError(f"has {match[0]} in its path, which servers understand differently")
    return char if char in _PLAIN else match[0].upper()


def _split_port(authority: str) -> tuple[str, str]:
    if authority.startswith("["):
        host, bracket, rest = authority.partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            raise AddressError(f"has the host {authority!r}; expected [IPv6] or [IPv6]:port")
        return host + bracket, rest.removeprefix(":")
    host, _, port = authority.partition(":")
    return host, port


def _port(text: str, scheme: str) -> int:
    if not text:
        return DEFAULT_PORTS[scheme]
    if not (text.isascii() and text.isdigit()) or not 0 < int(text[:9]) <= _LARGEST_PORT:
        raise AddressError(f"has the port {text[:20]!r}; expected 1 to {_LARGEST_PORT}")
    return int(text)


def _ascii(host: str) -> str:
    """Encode by IDNA 2008 with the mapping of UTS 46, as browsers and curl do."""
    if "%" in host:
        raise AddressError(f"has the host {host!r}; expected no percent-encoding in it")
    if host.isascii():
        return host.lower()
    try:
        return idna.encode(host, uts46=True).decode().lower()
    except idna.IDNAError as error:
        raise AddressError(f"has the host {host!r}, which is no name of a server") from error


def _ipv4(name: str) -> str:
    try:
        return str(IPv4Address(name))
    except AddressValueError as error:
        message = f"has the host {name!r}; expected an IPv4 address as four decimal numbers"
        raise AddressError(message) from error


def _ipv6(host: str) -> str:
    """An IPv4-mapped address becomes the IPv4 address: both reach the same server."""
    if not (host.startswith("[") and host.endswith("]")) or "%" in host:
        raise AddressError(f"has the host {host!r}; expected an IPv6 address in [brackets]")
    try:
        address = IPv6Address(host[1:-1])
    except AddressValueError as error:
        raise AddressError(f"has the host {host!r}, which is no IPv6 address") from error
    return str(address.ipv4_mapped or address)
