"""What time it is at the service: by what it said last, and by how long ago that was here.

A moment that the service names ("not begun after ...") is a moment of its clock. Ours may be an
hour off, or be set while the link is up; how long ago something was heard, we know without it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(slots=True)
class FarClock:
    """Seconds since 1970. Until anything was heard our own clock has to serve."""

    elapsed: Callable[[], float] = time.monotonic
    own: Callable[[], float] = time.time
    _said: float | None = None
    _heard: float = 0.0

    def hear(self, said: float) -> None:
        self._said, self._heard = said, self.elapsed()

    def now(self) -> float:
        return self.own() if self._said is None else self._said + self.elapsed() - self._heard
