"""A taken delivery is decoded, or found to be poison, before it waits in a lane."""

from __future__ import annotations

import time
from collections.abc import Hashable
from dataclasses import dataclass, field

from bus.carrier import Delivery
from bus.envelope import DecodeError, Envelope, decode
from bus.events import Command, CommandRefused, Event, EventKind
from bus.identity import AppKey
from bus.route import Route
from bus.signature import CommandKey

_QUOTED = 200
"""Most characters of an unverified text in a fact."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodedDelivery:
    """A decoded delivery that waits for its handler."""

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
    def continues(self) -> bool:
        return self.route.continues

    @property
    def slot(self) -> Hashable:
        """Asks of one key are one piece of work of their handler; any other event is its own."""
        merged = self.event.kind == EventKind.ASK
        return (self.route.name, str(self.event.key) if merged else self.delivery.sequence)


@dataclass(frozen=True, slots=True, kw_only=True)
class PoisonDelivery:
    """A delivery that no handler can take; it becomes a dead letter."""

    route: Route
    delivery: Delivery
    reason: str
    refused: CommandRefused | None = None
    """The fact for subscribers, where the delivery is a command that this agent did not sign."""
    since: float = field(default_factory=time.monotonic)

    continues = False

    @property
    def lane(self) -> str:
        return f"dead:{self.route.name}"

    @property
    def sequence(self) -> int:
        return self.delivery.sequence

    @property
    def slot(self) -> Hashable:
        return (self.route.name, self.delivery.sequence)


def take(
    route: Route, delivery: Delivery, command_key: CommandKey
) -> DecodedDelivery | PoisonDelivery:
    try:
        envelope, event = decode(delivery.headers, delivery.data)
    except DecodeError as error:
        return PoisonDelivery(route=route, delivery=delivery, reason=str(error))
    if type(event) is not route.event:
        reason = f"{envelope.type} came to {route.name}, which takes {route.event.name}"
        return PoisonDelivery(route=route, delivery=delivery, reason=reason)
    if isinstance(event, Command):
        reason = command_key.refusal(
            delivery.subject, delivery.headers, delivery.data, envelope.time
        )
        if reason:
            return _refused(route, delivery, event, reason)
    lane = route.lane(event)
    return DecodedDelivery(
        route=route, delivery=delivery, envelope=envelope, event=event, lane=lane
    )


def _refused(route: Route, delivery: Delivery, command: Command, reason: str) -> PoisonDelivery:
    text = f"command {command.name} about {command.key} is not carried out: {reason}"
    fact = None
    if isinstance(command.key, AppKey):
        fact = CommandRefused(
            app=command.key,
            command=command.name,
            command_id=command.id[:_QUOTED],
            claimed_actor=command.actor[:_QUOTED],
            message=text,
        )
    return PoisonDelivery(route=route, delivery=delivery, reason=text, refused=fact)
