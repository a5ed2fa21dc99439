"""How often one address may try to enrol, open a session or connect: a bucket of tokens each.

Per replica and in memory: it slows a guesser down and keeps hashing cheap; what decides is the
256-bit token and the key.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

from bus.http.budget import holder_of
from service.gateway.problems import LinkRefusedError

_PER_SECOND = 50.0
_BURST = 500.0
"""Many agents may come from one address, all at once after an outage."""
_ADDRESSES = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Doorman:
    per_second: float = _PER_SECOND
    burst: float = _BURST
    _left: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)
    """Address, or /64 of IPv6 -> tokens left and when; the least recently seen are forgotten."""

    def admit(self, address: str, now: float) -> None:
        """Raises LinkRefusedError(429)."""
        holder = holder_of(address)
        left, at = self._left.pop(holder, (self.burst, now))
        left = min(self.burst, left + (now - at) * self.per_second)
        self._left[holder] = (max(0.0, left - 1), now)
        if len(self._left) > _ADDRESSES:
            self._left.popitem(last=False)
        if left < 1:
            detail = "Too many attempts from this address."
            raise LinkRefusedError(429, "rate", detail, "Wait a second between attempts.")

    def give_back(self, address: str) -> None:
        """Put back what was taken for an attempt that proved itself."""
        holder = holder_of(address)
        known = self._left.get(holder)
        if known is not None:
            self._left[holder] = (min(self.burst, known[0] + 1), known[1])
