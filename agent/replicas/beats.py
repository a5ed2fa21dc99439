"""Beats are what a member sees of the others: who has written the table lately. Pure.

Times are those of this process. A member that did not look for a while, because the API server was
away or the process was stopped, has seen nothing of that while, and begins to look anew.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from agent.replicas.shard_table import Member

_BLIND_AFTER = 0.75
"""The part of `duration` after which a look says nothing of the time since the one before."""


@dataclass(slots=True)
class Beats:
    duration: float
    """Seconds without a new beat after which a member is silent."""
    _seen: dict[str, tuple[int, float]] = field(default_factory=dict)
    """The beat of each member, and when it was seen first."""
    _looked: float = float("-inf")

    def silent(self, members: Iterable[Member], now: float) -> tuple[str, ...]:
        """Note what a look at the table has shown; return the members that are silent."""
        if now - self._looked > self.duration * _BLIND_AFTER:
            self._seen.clear()
        self._looked = now
        self._seen = {one.name: self._first_seen(one, now) for one in members}
        return tuple(name for name, (_, since) in self._seen.items() if now - since > self.duration)

    def _first_seen(self, member: Member, now: float) -> tuple[int, float]:
        beat, since = self._seen.get(member.name, (-1, now))
        return member.beat, since if beat == member.beat else now
