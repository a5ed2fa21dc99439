"""Greeting: what a Welcome means for the talk that follows, and a Fenced for coming back. Pure.

What the service says is taken within reason: it may be another version, or broken.
"""

from __future__ import annotations

import msgspec

from agent.bridge.link import LinkLostError, LinkRefusedError
from bus.link import DownFrame, Fenced, Welcome

_NO_FENCE_RETURN = 3600.0
_SHORTEST, _LONGEST_BEAT, _LONGEST_COMPARE = 0.1, 15.0, 3600.0
_LARGEST_WINDOW = 10_000


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds, and items that may be under way."""

    window: int
    beat_every: float
    compare_every: float


def welcome_of(frame: DownFrame) -> Welcome:
    """Of the answer to our Hello. Raises LinkLostError."""
    match frame:
        case Welcome():
            return frame
        case Fenced():
            raise fenced(frame)
        case _:
            raise LinkLostError(f"expected a welcome, got {type(frame).__name__}")


def pace_of(welcome: Welcome) -> Pace:
    return Pace(
        window=int(_between(1, welcome.window, _LARGEST_WINDOW)),
        beat_every=_between(_SHORTEST, welcome.beat_seconds, _LONGEST_BEAT),
        compare_every=_between(_SHORTEST, welcome.roots_seconds, _LONGEST_COMPARE),
    )


def fenced(frame: Fenced) -> LinkLostError:
    """Who is not told when to come back waits for a person."""
    if frame.retry_after > 0:
        return LinkLostError(f"fenced: {frame.reason}", retry_after=frame.retry_after)
    return LinkRefusedError(f"fenced: {frame.reason}", retry_after=_NO_FENCE_RETURN)


def _between(least: float, said: float, most: float) -> float:
    return min(max(least, said), most)
