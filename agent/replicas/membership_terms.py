"""MembershipTerms: the times by which a replica is a member of the table of shards."""

from __future__ import annotations

from dataclasses import dataclass


class MembershipLostError(Exception):
    """The others have given away what this replica held, or an undivided agent holds the Lease."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MembershipTerms:
    """Times in seconds; `identity` is the member's name, unique per process."""

    namespace: str
    name: str
    identity: str
    duration: float = 12.0
    """A member that was silent for so long is removed by the others."""

    @property
    def deadline(self) -> float:
        """When a member that could not write stops writing anything."""
        return self.duration * 0.75

    @property
    def renewal(self) -> float:
        return self.duration / 3
