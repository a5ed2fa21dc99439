"""When a sync is repeated: drift after a growing wait, a denied sync when the rules change. Pure.

Drift is healed again at once, then after 2 s, 6 s, 18 s ... 300 s. A controller or person that
changes an object again and again fights with the agent; the growing wait keeps that fight from
becoming a storm of writes. After a quiet time the count starts anew (Argo CD's rule and numbers).
Time changes nothing about a rule of the project, so a sync that it denied is not retried by the
clock, but when the rules differ from those that the results of the operation quote.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from datetime import datetime

from handlers.application.denials import NOT_PERMITTED
from handlers.application.status import OperationState
from handlers.application.times import since
from handlers.sync.operation import results_of
from handlers.sync.operation_results import failures

FIRST, FACTOR, CAP = 2.0, 3.0, 300.0
QUIET = 330.0
"""Seconds after the last heal that forgive all earlier ones."""


def attempts(last: OperationState, now: datetime) -> int:
    """Count the heals in a row that still matter."""
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


def permits_otherwise(
    last: OperationState, denied: AbstractSet[str], hooks: AbstractSet[str]
) -> bool:
    """Whether `last` met rules of its project that are not the same now.

    `denied` says what they deny of the objects now, `hooks` what of the hooks.
    """
    failed = failures(results_of(last))
    then = {one.message for one in failed if NOT_PERMITTED in one.message}
    sync = last.operation.sync
    now = denied | hooks if sync is not None and sync.runs_hooks else denied
    return bool(then) and then != now
