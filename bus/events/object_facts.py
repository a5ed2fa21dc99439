"""The fact of a live object: it came, changed or went, as the watches of the cluster see it."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar

from bus.events.facts import AppFact
from bus.events.sentences import object_in_words
from bus.status import HealthStatus


class WatchChange(StrEnum):
    """What became of an object, in the words of a Kubernetes watch."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


_IN_WORDS = {
    WatchChange.ADDED: "added",
    WatchChange.MODIFIED: "changed",
    WatchChange.DELETED: "deleted",
}


class ObjectChanged(AppFact, frozen=True, kw_only=True):
    """An object of the application came, changed or went, by whomever; at most one a second.

    An object is one that its tracking annotation gives to the application. Writes to its status
    count where they change its health. It stays in the agent's NATS and is not sent to the service.
    """

    name: ClassVar[str] = "object.changed.v1"
    reported: ClassVar[bool] = False
    object: str
    """`group/kind/namespace/name`."""
    server: str
    """The API server of the destination cluster, as in `spec.destination`."""
    change: WatchChange
    health_before: HealthStatus | None = None
    """Null for a kind without health, and for an object that was not there."""
    health: HealthStatus | None = None
    """Its health now; null for a kind without health, and for an object that is gone."""
    fields: tuple[str, ...] = ()
    """Paths of what changed outside of the status, at most ten, without values."""
    managers: tuple[str, ...] = ()
    """The field managers that wrote it, at most five; none where the cluster does not say."""
    changes: int = 1
    """How many changes of the object this fact sums up: those since the last fact about it."""

    @property
    def sentence(self) -> str:
        what = f"{object_in_words(self.object)} {_IN_WORDS[self.change]}"
        who = f" by {', '.join(self.managers)}" if self.managers else ""
        details = (*self.fields, *self._health())
        return f"{what}{who}: {', '.join(details)}" if details else f"{what}{who}"

    def _health(self) -> tuple[str, ...]:
        if self.health is None or self.health is self.health_before:
            return ()
        before = f"{self.health_before} → " if self.health_before else ""
        return (f"health {before}{self.health}",)
