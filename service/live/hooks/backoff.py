"""When a delivery that failed is tried again, and when it is given up. Pure.

A day of growing waits: a receiver may be away over a night; then a person looks at the dead ones.
"""

from __future__ import annotations

from datetime import datetime, timedelta

_MINUTE = 60
_FIRST = (10, 30, 2 * _MINUTE, 10 * _MINUTE, 30 * _MINUTE)
WAITS = (*_FIRST, *(60 * _MINUTE,) * 3, *(360 * _MINUTE,) * 3)
"""Seconds after each failed try."""


def next_try(attempts: int, now: datetime) -> datetime | None:
    """After so many tries; None: it is dead."""
    if attempts > len(WAITS):
        return None
    return now + timedelta(seconds=WAITS[attempts - 1])
