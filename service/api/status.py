"""How long ago an agent was heard, in words: the ladder. And whether a newer version is out."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, version

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


def status_of(state: str, heard_at: datetime | None, now: datetime) -> AgentStatus:
    if state == "revoked":
        return AgentStatus.REVOKED
    if heard_at is None:
        return AgentStatus.WAITING
    age = now - heard_at
    if age < STALE_AFTER:
        return AgentStatus.CONNECTED
    if age < DISCONNECTED_AFTER:
        return AgentStatus.STALE
    return AgentStatus.DISCONNECTED if age < LOST_AFTER else AgentStatus.LOST


def upgrade_for(agent: str) -> str | None:
    """Our own version where the agent's is older; None: nothing to do, or nothing known."""
    try:
        own = version("gitops-house")
    except PackageNotFoundError:
        return None
    return own if agent and _numbers(agent) < _numbers(own) else None


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(it) for it in re.findall(r"\d+", text)[:3])
