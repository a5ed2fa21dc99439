"""Sender: gives an event its envelope, both where a chain begins and inside a room's hop.

The id of a result is derived from its cause, its room, its place and its content. A room that is
run again after a crash repeats ids and the server drops the copies; a room that then comes to
*another* result has another id and is heard. That is why the content is in it: without it the
second, true result would be taken for a copy of the first and vanish.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import msgspec

from bus.codec import MESSAGE_ID, Message, encode
from bus.envelope import Envelope
from bus.events import Command, Event
from bus.events.registry import wire_type
from bus.ids import derived_id, new_id
from bus.signature import CommandKey
from bus.subjects import Scope, subject_of
from bus.trace import Trace


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """What a room's results follow from; `turn` tells apart what is said before a retry."""

    envelope: Envelope
    room: str
    span: Trace
    turn: int = 0


@dataclass(frozen=True, slots=True)
class Sender:
    scope: Scope
    command_key: CommandKey = field(default_factory=CommandKey)

    @property
    def source(self) -> str:
        return f"/gitops/{self.scope.account}/{self.scope.agent}"

    def first(self, event: Event, *, correlation: str, trace: Trace, message_id: str) -> Message:
        """An event that no room said: it begins a chain unless `correlation` names one.

        Said again with the same `message_id`, it has the same id.
        """
        event_id = derived_id(message_id) if message_id else new_id()
        once = message_id or (event.id if isinstance(event, Command) else event_id)
        envelope = self._envelope(event, event_id, correlation or event_id, trace)
        return self._message(envelope, event, encode(event), once)

    def results(self, cause: Cause, events: Sequence[Event]) -> list[Message]:
        return [self._result(cause, place, event) for place, event in enumerate(events)]

    def _result(self, cause: Cause, place: int, event: Event) -> Message:
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


def _message_id(cause: Cause, place: int, data: bytes) -> str:
    """`{cause}:{room}:{n}` and a fingerprint; before a retry the turn too: each may say it anew."""
    content = hashlib.blake2b(data, digest_size=6).hexdigest()
    turn = f"{cause.turn}:" if cause.turn else ""
    return f"{cause.envelope.id}:{cause.room}:{turn}{place}:{content}"
