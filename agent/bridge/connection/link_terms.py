"""LinkTerms: window and intervals that a Welcome sets, and the heartbeat that keeps them. Pure.

Each value of the service is limited to a sane range: the service may be another version, or broken.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from agent.bridge.transport.link import LinkLostError, LinkRefusedError
from bus.link import Beat, DownFrame, Fenced, Welcome

_NO_FENCE_RETURN = 3600.0
_SHORTEST, _LONGEST_BEAT, _LONGEST_COMPARE = 0.1, 15.0, 3600.0
_LARGEST_WINDOW = 10_000
_SILENT_SECONDS = 40.0
"""Below the 45 seconds within which a half-open link has to be found."""
_BEATS = 2.7


class LinkTerms(msgspec.Struct, frozen=True, kw_only=True):
    """Intervals in seconds; `window` is the number of items that may be unacknowledged."""

    window: int
    beat_every: float
    compare_every: float


def welcome_of(frame: DownFrame) -> Welcome:
    """Return the Welcome that answers our Hello. Raises LinkLostError for any other frame."""
    match frame:
        case Welcome():
            return frame
        case Fenced():
            raise fenced(frame)
        case _:
            raise LinkLostError(f"expected a welcome, got {type(frame).__name__}")


def terms_of(welcome: Welcome) -> LinkTerms:
    return LinkTerms(
        window=int(_between(1, welcome.window, _LARGEST_WINDOW)),
        beat_every=_between(_SHORTEST, welcome.beat_seconds, _LONGEST_BEAT),
        compare_every=_between(_SHORTEST, welcome.roots_seconds, _LONGEST_COMPARE),
    )


def fenced(frame: Fenced) -> LinkLostError:
    """A Fenced frame without `retry_after` means that a person has to act."""
    if frame.retry_after > 0:
        return LinkLostError(f"fenced: {frame.reason}", retry_after=frame.retry_after)
    return LinkRefusedError(f"fenced: {frame.reason}", retry_after=_NO_FENCE_RETURN)


def _between(least: float, value: float, most: float) -> float:
    return min(max(least, value), most)


@dataclass(slots=True, kw_only=True)
class Heartbeat:
    """Decides when to send a beat, and when a silent link counts as lost.

    A connection that is dead in one direction looks open for many minutes; missing beats show
    it within 45 seconds. The caller passes the time: `wall` is compared across machines, `now`
    is monotonic.
    """

    every: float
    last_received: float
    """When the last frame of any kind arrived."""
    _last_sent: float = float("-inf")
    _last_peer_time: float = 0.0
    """`sent_at` of the service's last beat, echoed in ours."""

    def received(self, now: float, beat: Beat | None = None) -> None:
        self.last_received = now
        if beat is not None:
            self._last_peer_time = beat.sent_at

    def beat(self, now: float, wall: float) -> Beat | None:
        """The beat to send now; None if none is due."""
        if now - self._last_sent < self.every:
            return None
        self._last_sent = now
        return Beat(sent_at=wall, echo=self._last_peer_time)

    def is_lost(self, now: float) -> bool:
        return now - self.last_received > min(_SILENT_SECONDS, _BEATS * self.every)

    @property
    def check_every(self) -> float:
        return min(1.0, self.every / 5)
