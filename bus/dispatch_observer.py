"""The dispatch observer is the port through which metrics and tracing follow the dispatcher.

An observer decides nothing. Its calls are plain functions on the hot path: they count and return.
A `DispatchHop` holds all that a span needs: the trace, the parent's span and the times.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from bus.envelope import Envelope
from bus.events import Event
from bus.route import Route
from bus.trace import Trace


class DispatchOutcome(StrEnum):
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
class DispatchHop:
    """One event handled by one handler."""

    route: Route
    envelope: Envelope
    event: Event
    span: Trace
    """The handler's own span; `envelope.trace` is its parent."""
    started: float
    """Seconds since the epoch."""
    seconds: float
    outcome: DispatchOutcome
    results: tuple[Event, ...] = ()
    reason: str = ""


class DispatchWatcher(Protocol):
    def on_taken(self, route: Route, envelope: Envelope, queue_seconds: float) -> None:
        """Called before the handler, with the seconds since the event was published."""

    def on_handled(self, hop: DispatchHop) -> None: ...

    def on_dead(self, route: Route, reason: str) -> None:
        """A dead letter was written; for an undecodable message this is the only call."""


class NoDispatchWatcher:
    """An observer that ignores every call."""

    def on_taken(self, route: Route, envelope: Envelope, queue_seconds: float) -> None: ...
    def on_handled(self, hop: DispatchHop) -> None: ...
    def on_dead(self, route: Route, reason: str) -> None: ...
