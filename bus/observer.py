"""Observer: where metrics and tracing look at the dispatcher. It is told, it never decides.

Calls are plain functions on the hot path: they count and return. A span is exported by whoever
implements this, from `Hop`: its trace, its parent's span and its times are all there.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from bus.envelope import Envelope
from bus.events import Event
from bus.route import Route
from bus.trace import Trace


class Outcome(StrEnum):
    HANDLED = "handled"
    MERGED = "merged"
    """A newer ask of the same subject was waiting: nothing was done."""
    RETRIED = "retried"
    REJECTED = "rejected"
    FAILED = "failed"
    """A bug: delivered again with back-off."""
    DEAD = "dead"
    """A bug on the last attempt: a dead letter."""
    LOST = "lost"
    """The results could not be published: delivered again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    """One event's way through one room."""

    route: Route
    envelope: Envelope
    event: Event
    span: Trace
    """The room's own span; `envelope.trace` is its parent."""
    started: float
    """Seconds since the epoch."""
    seconds: float
    outcome: Outcome
    results: tuple[Event, ...] = ()
    reason: str = ""


class Observer(Protocol):
    def on_taken(self, route: Route, envelope: Envelope, queue_seconds: float) -> None:
        """Called before the room: how long the event was on its way."""

    def on_handled(self, hop: Hop) -> None: ...

    def on_dead(self, route: Route, reason: str) -> None:
        """A dead letter was written; for an undecodable message this is the only call."""


class Unobserved:
    """Nobody looks."""

    def on_taken(self, route: Route, envelope: Envelope, queue_seconds: float) -> None: ...
    def on_handled(self, hop: Hop) -> None: ...
    def on_dead(self, route: Route, reason: str) -> None: ...
