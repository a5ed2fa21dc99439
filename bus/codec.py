"""Codec: typed event <-> message on the wire. JSON by msgspec, straight into the event's class.

Unknown fields are ignored, so that a newer agent may say more; unknown types are refused, because
acting on half a meaning is worse than a dead letter. Size is limited where something is said.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import msgspec

from bus.envelope import Envelope, EnvelopeError
from bus.events import Event
from bus.events.registry import UnknownTypeError, event_type, wire_type

MAX_EVENT_BYTES = 8 * 1024
MESSAGE_ID = "Nats-Msg-Id"

_encoder = msgspec.json.Encoder()


class EventTooLargeError(Exception):
    """An event carries keys and references; this one carries state."""


class DecodeError(Exception):
    """A message that is no event of ours; the reason names what was expected."""


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes ready for the wire, whatever wire that is."""

    subject: str
    headers: dict[str, str]
    data: bytes


def encode(event: Event) -> bytes:
    data = _encoder.encode(event)
    if len(data) > MAX_EVENT_BYTES:
        raise EventTooLargeError(
            f"{wire_type(event)} about {event.key} has {len(data)} bytes, at most {MAX_EVENT_BYTES}"
        )
    return data


def decode(headers: Mapping[str, str] | None, data: bytes) -> tuple[Envelope, Event]:
    """The event of a message and what is known of it; raises DecodeError."""
    try:
        envelope = Envelope.from_headers(headers or {})
        return envelope, _decoder(event_type(envelope.type)).decode(data)
    except (EnvelopeError, UnknownTypeError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DecodeError(str(error)) from error


@cache
def _decoder(event: type[Event]) -> msgspec.json.Decoder[Event]:
    return msgspec.json.Decoder(event)
