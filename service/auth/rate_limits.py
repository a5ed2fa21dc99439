"""Rate limits: a token bucket per actor, in this replica's memory.

A bucket fills with `rate` a second up to `burst`; a request takes one. Full buckets are forgotten,
so that many actors seen once cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

_TIDY_AT = 4096


@dataclass(slots=True)
class _Bucket:
    level: float
    at: float


@dataclass(slots=True, kw_only=True)
class RateLimits:
    rate: float
    burst: float
    monotonic: Callable[[], float]
    _buckets: dict[str, _Bucket] = field(default_factory=dict)
    _tidy_at: int = _TIDY_AT
    """Doubled while few are full, or each new actor would look at all the others."""

    def wait(self, actor: str) -> float:
        """Take one token of the bucket, or return the seconds until there is one."""
        now = self.monotonic()
        bucket = self._buckets.get(actor)
        if bucket is None:
            self._tidy(now)
            bucket = self._buckets[actor] = _Bucket(self.burst, now)
        bucket.level = self._level(bucket, now)
        bucket.at = now
        if bucket.level < 1:
            return (1 - bucket.level) / self.rate
        bucket.level -= 1
        return 0.0

    def give_back(self, actor: str) -> None:
        """Put back what was taken for something that was somebody else's to pay."""
        bucket = self._buckets.get(actor)
        if bucket is not None:
            bucket.level = min(self.burst, bucket.level + 1)

    def _level(self, bucket: _Bucket, now: float) -> float:
        return min(self.burst, bucket.level + (now - bucket.at) * self.rate)

    def _tidy(self, now: float) -> None:
        if len(self._buckets) >= self._tidy_at:
            full = [it for it, b in self._buckets.items() if self._level(b, now) >= self.burst]
            for actor in full:
                del self._buckets[actor]
            self._tidy_at = max(_TIDY_AT, 2 * len(self._buckets))
