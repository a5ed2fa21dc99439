"""The event sender gives an event its envelope, where a chain begins and in a handler's results.

The id of a result is derived from its cause, its handler, its place and its content. A handler that
runs again after a crash repeats the ids, and the server drops the copies; one that then comes to
*another* result gives it another id. That is why the content counts: without it the second, true
result would be taken for a copy of the first and vanish.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import msgspec

from bus.envelope import MESSAGE_ID, Envelope, Message, encode
from bus.events import Command, Event
from bus.events.event import wire_type
from bus.identity import derived_id, new_id
from bus.signature import CommandKey
from bus.spans.span import Sampler
from bus.subjects import AgentScope, subject_of
from bus.trace import Trace


class EventOrigin(msgspec.Struct, frozen=True, kw_only=True):
    """The delivery that a handler's results follow from; `turn` tells the retries apart."""

    envelope: Envelope
    handler: str
    span: Trace
    turn: int = 0


@dataclass(frozen=True, slots=True)
class EventSender:
    scope: AgentScope
    command_key: CommandKey = field(default_factory=CommandKey)
    sampler: Sampler = field(default_factory=Sampler)
    """Decides which traces are recorded, where they begin."""

    @property
    def source(self) -> str:
        return f"/gitops/{self.scope.account}/{self.scope.agent}"

    def first(self, event: Event, *, correlation: str, trace: Trace, message_id: str) -> Message:
        """Make the message of an event that no handler returned.

        The event begins a chain unless `correlation` names one. The same `message_id` gives the
        same event id.
        """
        event_id = derived_id(message_id) if message_id else new_id()
        once = message_id or (event.id if isinstance(event, Command) else event_id)
        envelope = self._envelope(event, event_id, correlation or event_id, trace)
        return self._message(envelope, event, encode(event), once)

    def results(self, cause: EventOrigin, events: Sequence[Event]) -> list[Message]:
        return [self._result(cause, place, event) for place, event in enumerate(events)]

    def _result(self, cause: EventOrigin, place: int, event: Event) -> Message:
        data = encode(event)
        once = _message_id(cause, place, data)
        origin = cause.envelope
        envelope = self._envelope(
            event, derived_id(once), origin.correlation, cause.span, cause=origin.id
        )
        return self._message(envelope, event, data, once)

    def _message(self, envelope: Envelope, event: Event, data: bytes, once: str) -> Message:
        headers = {**envelope.to_headers(), MESSAGE_ID: once}
        message = Message(subject=subject_of(self.scope, event), headers=headers, data=data)
        return self.command_key.sign(message) if isinstance(event, Command) else message

    def _envelope(
        self, event: Event, event_id: str, correlation: str, trace: Trace, cause: str = ""
    ) -> Envelope:
        return Envelope(
            id=event_id,
            source=self.source,
            type=wire_type(event),
            subject=str(event.key),
            time=datetime.now(UTC),
            correlation=correlation,
            cause=cause,
            trace=trace,
        )


def _message_id(cause: EventOrigin, place: int, data: bytes) -> str:
    """Return `{cause}:{handler}:{place}:{fingerprint}`; a retry has its turn before the place."""
    content = hashlib.blake2b(data, digest_size=6).hexdigest()
    turn = f"{cause.turn}:" if cause.turn else ""
    return f"{cause.envelope.id}:{cause.handler}:{turn}{place}:{content}"
