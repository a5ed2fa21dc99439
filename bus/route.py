"""A route brings the events of one type to a handler, whose call ends well, in Retry or in Reject.

A handler is any async callable from one typed event to the events that follow from it. Retry and
Reject are the only exceptions that the dispatcher understands; any other one is a bug.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bus.events import Event


class Retry(Exception):  # noqa: N818  a verdict on the message, not an error of the handler
    """What the handler needs is not ready: deliver the message again after `after` seconds.

    `emit` holds events to publish before the message goes back, e.g. the fact that a user must see.
    """

    def __init__(self, reason: str, *, after: float, emit: tuple[object, ...] = ()) -> None:
        super().__init__(reason)
        self.reason = reason
        self.after = after
        self.emit = emit


class Reject(Exception):  # noqa: N818  likewise
    """The message can never succeed: to the dead letters with `reason`, and on to the next."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


Handler = Callable[[Any], Awaitable[Sequence[Event]]]
"""`Any` because a routing table mixes handlers of different events; each handler is typed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """`event` goes to `handler`, serially per lane; `name` is the durable consumer's on the bus."""

    name: str
    event: type[Event]
    handler: Handler
    lane: Callable[[Any], str]
    """The serial queue an event belongs to, as a function of the event: usually its key's text."""
    timeout: float = 60.0
    """Seconds one call may take before it is cancelled and tried again."""
    attempts: int = 5
    """Deliveries that may end in a bug before the message is a dead letter."""
    continues: bool = False
    """Whether its events continue begun work: they are served before those that begin new work."""
