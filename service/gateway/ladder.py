"""The ladder: what is said of an agent by its link and by how long ago it was heard. Pure.

    connected -> stale (three beats missed) -> disconnected (two minutes) -> lost (fifteen)

A link that ended in order is disconnected at once: nobody has to wait to be told the truth.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

STALE_AFTER = timedelta(seconds=45)
DISCONNECTED_AFTER = timedelta(minutes=2)
LOST_AFTER = timedelta(minutes=15)


class AgentStatus(StrEnum):
    CONNECTED = "connected"
    STALE = "stale"
    DISCONNECTED = "disconnected"
    LOST = "lost"
    WAITING = "waiting"
    """Never heard."""
    REVOKED = "revoked"


def status_of(
    state: str, heard_at: datetime | None, now: datetime, *, connected: bool
) -> AgentStatus:
    """`connected`: some replica holds its link, or died while it did."""
    if state == "revoked":
        return AgentStatus.REVOKED
    if heard_at is None:
        return AgentStatus.WAITING
    age = now - heard_at
    if age >= LOST_AFTER:
        return AgentStatus.LOST
    if age >= DISCONNECTED_AFTER or not connected:
        return AgentStatus.DISCONNECTED
    return AgentStatus.STALE if age >= STALE_AFTER else AgentStatus.CONNECTED
