"""A target of an outgoing request: its URL, and the addresses that it may connect to. Pure.

The value that is judged is the value that the client connects with: a text that one parser reads as
a name and another as 127.0.0.1 (`①②⑦.0.0.1`) has one meaning here. What a name resolves to is
judged by the client, at each connection.

An address is permitted where it is on the public internet, or in a network that the operator named.
An IPv6 address that stands for an IPv4 one (mapped, NAT64, 6to4) is judged as that one: a
translator or a dual stack delivers there in the end.
"""

from __future__ import annotations

import socket
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network

import msgspec
from yarl import URL

from bus.http.forwarded import Network

Address = IPv4Address | IPv6Address
_NAT64 = IPv6Network("64:ff9b::/96")  # RFC 6052; the local prefix of RFC 8215 is not public at all
_NEVER_PUBLIC = tuple(
    ip_network(it)
    for it in (
        "192.0.0.0/24",  # protocol assignments, RFC 6890; a cloud's metadata service has been there
        "192.88.99.0/24",  # the relays of 6to4, RFC 7526
        "168.63.129.16/32",  # a cloud's service on each of its machines
        "3fff::/20",  # documentation, RFC 9637
        "5f00::/16",  # segment routing, RFC 9602
    )
)
"""What tables of the standard library, which differ by release, may take for public."""
NOT_PUBLIC = "the host is not on the public internet"
_LONGEST = 2000


class AddressPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """The operator's decision about the addresses of outgoing requests."""

    allowed: tuple[Network, ...] = ()
    """Networks that are not public and may be reached nevertheless, such as `10.20.0.0/16`."""
    plain_http: bool = False
    """Whether `http://` is a target: for labs, where nothing terminates TLS."""

    def permits(self, address: Address) -> bool:
        meant = _meant(address)
        return _is_public(meant) or any(meant in network for network in self.allowed)


def numeric_address(host: str) -> Address | None:
    """Read the address that a host spells in digits, as resolvers do; None for a name.

    `127.1`, `0x7f000001`, `017700000001` and `2130706433` are 127.0.0.1 for getaddrinfo.
    """
    plain = host.strip("[]").partition("%")[0].rstrip(".")
    try:
        return ip_address(plain)
    except ValueError:
        pass
    try:
        return IPv4Address(socket.inet_aton(plain))
    except (OSError, ValueError):
        return None


def _meant(address: Address) -> Address:
    if isinstance(address, IPv4Address):
        return address
    plain = IPv6Address(int(address))  # without its zone
    if plain in _NAT64:
        return IPv4Address(int(plain) & 0xFFFFFFFF)
    return plain.ipv4_mapped or plain.sixtofour or plain


def _is_public(address: Address) -> bool:
    if any(address in network for network in _NEVER_PUBLIC):
        return False
    site_local = isinstance(address, IPv6Address) and address.is_site_local
    return address.is_global and not (address.is_multicast or address.is_reserved or site_local)


class InvalidTargetError(ValueError):
    """The URL cannot be a target; the message says why, in a sentence for its writer."""


def parse_target(text: str, policy: AddressPolicy) -> URL:
    """Parse a receiver's URL; no name is looked up. Raises InvalidTargetError."""
    url = _parsed(text)
    if url.scheme == "http" and not policy.plain_http:
        raise InvalidTargetError("expected https://: what is sent must not be readable on its way")
    if url.user is not None or url.password is not None:
        raise InvalidTargetError("the URL must hold no user and no password: requests are signed")
    _check_host(url.raw_host or "", policy)
    return url.with_fragment(None)


def _parsed(text: str) -> URL:
    try:
        url = URL(text)
        usable = url.scheme in ("https", "http") and bool(url.raw_host) and bool(url.port)
    except ValueError as e:
        raise InvalidTargetError("expected https://host/path") from e
    if not usable or len(text) > _LONGEST:
        raise InvalidTargetError("expected https://host/path")
    return url


def _check_host(host: str, policy: AddressPolicy) -> None:
    address = numeric_address(host)
    if address is not None and not policy.permits(address):
        raise InvalidTargetError(NOT_PUBLIC)
    name = host.rstrip(".").lower()
    is_local_name = name == "localhost" or name.endswith(".localhost")
    if is_local_name and not policy.allowed:
        raise InvalidTargetError(NOT_PUBLIC)
