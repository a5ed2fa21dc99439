"""Taken: a delivery that was decoded, or found to be poison, on its way through a lane."""

from __future__ import annotations

import time
from collections.abc import Hashable
from dataclasses import dataclass, field

from bus.carrier import Delivery
from bus.codec import DecodeError, decode
from bus.envelope import Envelope
from bus.events import Command, CommandRefused, Event, Kind
from bus.identity import AppKey
from bus.route import Route
from bus.signature import CommandKey

_QUOTED = 200
"""Most characters of a stranger's words in a fact."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A decoded delivery on its way to a room."""

    route: Route
    delivery: Delivery
    envelope: Envelope
    event: Event
    lane: str
    since: float = field(default_factory=time.monotonic)

    @property
    def sequence(self) -> int:
        return self.delivery.sequence

    @property
    def goes_on(self) -> bool:
        return self.route.goes_on

    @property
    def slot(self) -> Hashable:
        """Asks of one subject are one piece of work; everything else stands for itself."""
        merged = self.event.kind == Kind.ASK
        return (self.route.name, self.delivery.subject if merged else self.delivery.sequence)


@dataclass(frozen=True, slots=True, kw_only=True)
class Poison:
    """A delivery that no room can be asked about."""

    route: Route
    delivery: Delivery
    reason: str
    refused: CommandRefused | None = None
    """What subscribers hear of it, where it is a command that this agent did not sign."""
    since: float = field(default_factory=time.monotonic)

    goes_on = False

    @property
    def lane(self) -> str:
        return f"dead:{self.route.name}"

    @property
    def sequence(self) -> int:
        return self.delivery.sequence

    @property
    def slot(self) -> Hashable:
        return (self.route.name, self.delivery.sequence)


def take(route: Route, delivery: Delivery, command_key: CommandKey) -> Taken | Poison:
    try:
        envelope, event = decode(delivery.headers, delivery.data)
    except DecodeError as error:
        return Poison(route=route, delivery=delivery, reason=str(error))
    if type(event) is not route.event:
        reason = f"{envelope.type} came to {route.name}, which takes {route.event.name}"
        return Poison(route=route, delivery=delivery, reason=reason)
    if isinstance(event, Command):
        reason = command_key.refusal(
            delivery.subject, delivery.headers, delivery.data, envelope.time
        )
        if reason:
            return _refused(route, delivery, event, reason)
    lane = route.lane(event)
    return Taken(route=route, delivery=delivery, envelope=envelope, event=event, lane=lane)


def _refused(route: Route, delivery: Delivery, command: Command, reason: str) -> Poison:
    text = f"command {command.name} about {command.key} is not carried out: {reason}"
    said = None
    if isinstance(command.key, AppKey):
        said = CommandRefused(
            app=command.key,
            command=command.name,
            command_id=command.id[:_QUOTED],
            claimed_actor=command.actor[:_QUOTED],
            message=text,
        )
    return Poison(route=route, delivery=delivery, reason=text, refused=said)
