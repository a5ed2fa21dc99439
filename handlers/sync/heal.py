"""How fast drift is healed again: at once, then after 2 s, 6 s, 18 s ... 300 s.

Somebody who changes an object again and again is fighting with us; the growing wait keeps that from
becoming a storm. After a quiet time the count starts anew (Argo CD's rule and numbers).
"""

from __future__ import annotations

from datetime import datetime

from handlers.application.status import OperationState
from handlers.application.times import since

FIRST, FACTOR, CAP = 2.0, 3.0, 300.0
QUIET = 330.0
"""Seconds after the last heal that forgive all earlier ones."""


def attempts(last: OperationState, now: datetime) -> int:
    """Heals in a row that still count."""
    quiet = since(last.finished_at, now)
    if last.operation.sync is None or (quiet is not None and quiet >= QUIET):
        return 0
    return last.operation.sync.auto_heal_attempts_count


def wait(last: OperationState, now: datetime) -> float:
    """Seconds until the next heal may start; 0 for now."""
    count = attempts(last, now)
    if count <= 0:
        return 0.0
    delay = min(CAP, FIRST * FACTOR ** min(count - 1, 16))
    return max(0.0, delay - (since(last.finished_at, now) or 0.0))
