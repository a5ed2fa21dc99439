"""Pulse: signs of life both ways, and when to stop believing in a link. Pure.

A connection that is dead in one direction looks alive from here for many minutes; a beat that
nobody answers does not. Times are given in: `wall` is compared across machines, `now` is not.
"""

from __future__ import annotations

from dataclasses import dataclass

from bus.link import Beat

_SILENT_SECONDS = 40.0
"""Below the 45 seconds within which a half-open link has to be found."""
_BEATS = 2.7


@dataclass(slots=True, kw_only=True)
class Pulse:
    every: float
    heard: float
    """When anything was heard last."""
    _beaten: float = float("-inf")
    _last: float = 0.0
    """`sent_at` of the last beat from the other side."""

    def hear(self, now: float, beat: Beat | None = None) -> None:
        self.heard = now
        if beat is not None:
            self._last = beat.sent_at

    def beat(self, now: float, wall: float) -> Beat | None:
        """What to send now, if it is time."""
        if now - self._beaten < self.every:
            return None
        self._beaten = now
        return Beat(sent_at=wall, echo=self._last)

    def is_lost(self, now: float) -> bool:
        return now - self.heard > min(_SILENT_SECONDS, _BEATS * self.every)

    @property
    def look_every(self) -> float:
        return min(1.0, self.every / 5)
