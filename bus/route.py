"""Route: one row of the house plan, as a value.

A room is any async callable from one typed event to the events that follow from it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bus.events import Event

Room = Callable[[Any], Awaitable[Sequence[Event]]]
"""`Any` because a house plan mixes rooms of different events; each room itself is fully typed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """`event` goes to `room`, serially per lane; `name` is the durable consumer's on the bus."""

    name: str
    event: type[Event]
    room: Room
    lane: Callable[[Any], str]
    """The serial queue an event belongs to, as a function of the event: usually its key's text."""
    timeout: float = 60.0
    """Seconds one call may take before it is cancelled and tried again."""
    attempts: int = 5
    """Deliveries that may end in a bug before the message is a dead letter."""
    goes_on: bool = False
    """Its events follow from work that was begun: served before what begins something new."""
