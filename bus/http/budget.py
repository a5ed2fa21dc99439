"""Budget: a bounded amount that many hold parts of, bounded in all and for each holder.

Pure. Connections, bytes of bodies, waiting logins and listeners are all counted by it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import IPv6Address, ip_address

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
