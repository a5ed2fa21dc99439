"""What is said of an agent: the ladder's word, and whether a newer version is out."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, version

from service.gateway.ladder import STALE_AFTER, AgentStatus, status_of

__all__ = ["STALE_AFTER", "AgentStatus", "status_of", "upgrade_for"]


def upgrade_for(agent: str) -> str | None:
    """Our own version where the agent's is older; None: nothing to do, or nothing known."""
    try:
        own = version("gitops-house")
    except PackageNotFoundError:
        return None
    return own if agent and _numbers(agent) < _numbers(own) else None


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(it) for it in re.findall(r"\d+", text)[:3])
