"""How long to wait before the next try: decorrelated jitter, from a second to a minute. Pure.

Each wait is drawn between the shortest and three times the one before, so that a thousand agents
whose service restarts do not come back in step. What the service asks for is the least.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

_SHORTEST, _LONGEST = 1.0, 60.0
_LONGEST_ASKED = 3600.0


@dataclass(slots=True, kw_only=True)
class Pause:
    random: Random
    shortest: float = _SHORTEST
    longest: float = _LONGEST
    _last: float = 0.0

    def next(self, retry_after: float = 0.0) -> float:
        before = max(self._last, self.shortest)
        self._last = min(self.longest, self.random.uniform(self.shortest, 3 * before))
        asked = min(max(0.0, retry_after), _LONGEST_ASKED)
        return max(self._last, asked + self.random.uniform(0, 0.2 * asked))

    def reset(self) -> None:
        """It worked: the next failure is a first one."""
        self._last = 0.0
