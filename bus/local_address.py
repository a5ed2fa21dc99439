"""Local addresses: those of this machine, of its link, and of a cloud's metadata. Pure.

Whoever can make the agent ask such an address is answered by the agent's own pod, or by the service
that gives away the node's identity.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address

_METADATA = frozenset(map(ip_address, ("100.100.100.200", "fd00:ec2::254")))
_LOCAL_NAME = "localhost"


def is_local(host: str) -> bool:
    """Tell whether a literal address, or the name `localhost`, is such a place."""
    name = host.lower().removesuffix(".")
    if name == _LOCAL_NAME or name.endswith(f".{_LOCAL_NAME}"):
        return True
    try:
        address = ip_address(name.partition("%")[0].strip("[]"))
    except ValueError:
        return False
    return _is_local_address(address)


def leads_inside(host: str, named_by: str) -> bool:
    """Whether a host is an address of this machine or its link, named by one that is not."""
    return is_local(host) and not is_local(named_by)


def _is_local_address(address: IPv4Address | IPv6Address) -> bool:
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    found = mapped or address
    return found.is_loopback or found.is_link_local or found.is_unspecified or found in _METADATA
