"""Failures: how often a delivery ended in a bug, and when to try it again.

The server's own count is of no use here: it also counts every `Retry`, which may go on for days.
The counts are forgotten with the process.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

_LONGEST_BACK_OFF = 60.0
_REMEMBERED = 10_000


@dataclass(slots=True)
class Failures:
    back_off: float
    """Seconds before the second attempt; doubled for each further one, up to a minute."""
    _counts: OrderedDict[tuple[str, int], int] = field(default_factory=OrderedDict)

    def add(self, room: str, sequence: int) -> int:
        """Count one more; returns how many there are now."""
        key = (room, sequence)
        count = self._counts[key] = self._counts.pop(key, 0) + 1
        if len(self._counts) > _REMEMBERED:
            self._counts.popitem(last=False)
        return count

    def forget(self, room: str, sequence: int) -> None:
        self._counts.pop((room, sequence), None)

    def delay(self, count: int) -> float:
        return min(self.back_off * 2.0 ** (count - 1), _LONGEST_BACK_OFF)
