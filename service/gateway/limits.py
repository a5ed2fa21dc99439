"""How often one address may try to enrol or open a session: a bucket of tokens per address.

Per replica and in memory: it slows a guesser down and keeps hashing cheap; what decides is the
256-bit token and the key.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

from service.gateway.problems import LinkRefusedError

_PER_SECOND = 50.0
_BURST = 500.0
"""Many agents may come from one address, all at once after an outage."""
_ADDRESSES = 10_000


@dataclass(frozen=True, slots=True)
class Doorman:
    _left: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)
    """Address -> tokens left and when; the least recently seen are forgotten."""

    def admit(self, address: str, now: float) -> None:
        """Raises LinkRefusedError(429)."""
        left, at = self._left.pop(address, (_BURST, now))
        left = min(_BURST, left + (now - at) * _PER_SECOND)
        self._left[address] = (max(0.0, left - 1), now)
        if len(self._left) > _ADDRESSES:
            self._left.popitem(last=False)
        if left < 1:
            detail = "Too many attempts from this address."
            raise LinkRefusedError(429, "rate", detail, "Wait a second between attempts.")
