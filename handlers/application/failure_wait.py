"""How long to wait before something that fails is tried again, by the conditions it left. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from bus.status import ConditionType
from handlers.application import times
from handlers.application.application import Application
from handlers.application.status import of_type

SHORTEST_WAIT = 2.0
LONGEST_WAIT = 180.0


def wait(apps: Iterable[Application], message: str, now: datetime) -> float:
    """Seconds until the next try: as long as it has been failing so far, within bounds.

    The begin is read from the conditions with this message, so a restart forgets nothing.
    """
    begun = (
        times.since(one.last_transition_time, now)
        for app in apps
        for one in of_type(app.status.conditions, ConditionType.COMPARISON_ERROR)
        if one.message == message
    )
    longest = max((seconds for seconds in begun if seconds is not None), default=0.0)
    return min(max(longest, SHORTEST_WAIT), LONGEST_WAIT)
