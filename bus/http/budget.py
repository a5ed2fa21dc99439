"""Limits of what unauthenticated clients may take of an HTTP server, and their budgets.

A budget bounds an amount in total and for each holder of a part. Pure. Connections, bytes of
bodies, waiting logins and listeners are all counted by it.
"""

from __future__ import annotations

import resource
from dataclasses import dataclass, field, replace
from ipaddress import IPv6Address, ip_address

_MIB = 1 << 20
_FILES_OF_OTHERS = 256
"""Open files that the process needs for everything else: databases, mirrors, NATS, logs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpLimits:
    connections: int = 2048
    connections_of_address: int = 256
    """Of one address, or one /64 of IPv6; requests of who has logged in do not count."""
    head_seconds: float = 10.0
    """From a connection, or the first byte of a request, to the end of its head."""
    body_seconds: float = 10.0
    """For a body; GitHub, too, gives up after ten."""
    request_seconds: float = 60.0
    """From the head to the answer, for who has not logged in."""
    idle_seconds: float = 75.0
    """Between two requests of a connection: more than the minute that most proxies keep one."""
    bodies: int = 64 * _MIB
    """Bytes of bodies that are being read, in all."""
    bodies_of_address: int = 32 * _MIB


def affordable(limits: HttpLimits, files: int) -> HttpLimits:
    """No more connections than a process that may open so many files has room for."""
    most = max(files - _FILES_OF_OTHERS, files // 2)
    return replace(limits, connections=min(limits.connections, most))


def open_files() -> int:
    """Number of files that this process may open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return soft if soft != resource.RLIM_INFINITY else 1 << 20


_NETWORK_OF_ONE = 64
"""Bits of an IPv6 address that one subscriber line shares: it may use all addresses below them."""


@dataclass(slots=True, kw_only=True)
class Budget:
    """`total` in all; `share` for one holder. What is taken has to be given back."""

    total: int
    share: int
    used: int = 0
    _held: dict[str, int] = field(default_factory=dict)

    def take(self, holder: str, amount: int = 1) -> bool:
        """False where either bound would be passed; then nothing is taken."""
        if self.used + amount > self.total or self.held(holder) + amount > self.share:
            return False
        self.used += amount
        self._held[holder] = self.held(holder) + amount
        return True

    def give_back(self, holder: str, amount: int = 1) -> None:
        self.used -= amount
        left = self.held(holder) - amount
        if left > 0:
            self._held[holder] = left
        else:
            self._held.pop(holder, None)

    def held(self, holder: str) -> int:
        return self._held.get(holder, 0)

    def largest_holder(self) -> str:
        """Who holds most; empty where nobody holds anything."""
        return max(self._held, key=self.held, default="")

    @property
    def holders(self) -> int:
        """Number of those who hold anything."""
        return len(self._held)


def holder_of(address: str) -> str:
    """Name the holder that an address counts for: an IPv4 address, or a /64 of IPv6."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if not isinstance(found, IPv6Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return f"{IPv6Address(int(found) >> _NETWORK_OF_ONE << _NETWORK_OF_ONE)}/{_NETWORK_OF_ONE}"
