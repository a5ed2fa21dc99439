"""The addresses that outgoing requests may connect to. Pure.

An address is permitted where it is on the public internet, or in a network that the operator named.
An IPv6 address that stands for an IPv4 one (mapped, NAT64, 6to4) is judged as that one: a
translator or a dual stack delivers there in the end.
"""

from __future__ import annotations

import socket
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

import msgspec

from bus.http.forwarded import Network

Address = IPv4Address | IPv6Address

_NAT64 = IPv6Network("64:ff9b::/96")  # RFC 6052; the local prefix of RFC 8215 is not public at all


class AddressPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """What the operator decided about outgoing requests."""

    allowed: tuple[Network, ...] = ()
    """Networks that are not public and may be reached nevertheless, such as `10.20.0.0/16`."""
    plain_http: bool = False
    """Whether `http://` is a target: for labs, where nothing terminates TLS."""

    def permits(self, address: Address) -> bool:
        meant = _meant(address)
        return _is_public(meant) or any(meant in network for network in self.allowed)


def numeric_address(host: str) -> Address | None:
    """The address that a host spells in digits, in any way that a resolver reads; a name has none.

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
    site_local = isinstance(address, IPv6Address) and address.is_site_local
    return address.is_global and not (address.is_multicast or address.is_reserved or site_local)
