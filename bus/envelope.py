"""The envelope holds the metadata of an event, and the codec turns both into a message and back.

CloudEvents 1.0 attributes in binary mode: one header each, `ce-` before the name; our extensions
are `ce-correlation` (the first event of the chain) and `ce-cause` (the event that led to this one).
The trace stands in `traceparent` and `tracestate` as everywhere. The schema's version is in the
type. The data is JSON by msgspec. Unknown fields are ignored, so that a newer agent may add some;
unknown types are refused, because acting on half a meaning is worse than a dead letter. Size is
limited where an event is encoded.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache

import msgspec

from bus.events import Event
from bus.events.event import UnknownTypeError, event_type, wire_type
from bus.trace import Trace

MAX_EVENT_BYTES = 8 * 1024
MESSAGE_ID = "Nats-Msg-Id"

_encoder = msgspec.json.Encoder()


class EventTooLargeError(Exception):
    """The event is larger than keys and references can be: it carries state."""


class DecodeError(Exception):
    """The message is no event of ours; the error names what was expected."""


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
    """Read the envelope and the event of a message; raises DecodeError."""
    try:
        envelope = Envelope.from_headers(headers or {})
        return envelope, _decoder(event_type(envelope.type)).decode(data)
    except (EnvelopeError, UnknownTypeError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DecodeError(str(error)) from error


@cache
def _decoder(event: type[Event]) -> msgspec.json.Decoder[Event]:
    return msgspec.json.Decoder(event)


_REQUIRED = {
    "ce-specversion": "1.0",
    "ce-datacontenttype": "application/json",
}
_HEADER_LIMIT = 512


class EnvelopeError(Exception):
    """The headers of the message are not an envelope."""


class Envelope(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    source: str
    """The agent that published the event: `/gitops/{account}/{agent}`."""
    type: str
    """The wire type, e.g. `fact.app.compared.v1`."""
    subject: str
    """The key in words, e.g. `argocd/guestbook`; a subject on the bus holds only its hash."""
    time: datetime
    correlation: str
    cause: str = ""
    trace: Trace | None = None

    def to_headers(self) -> dict[str, str]:
        headers = {
            **_REQUIRED,
            "ce-id": self.id,
            "ce-source": self.source,
            "ce-type": self.type,
            "ce-subject": self.subject[:_HEADER_LIMIT],
            "ce-time": self.time.isoformat(),
            "ce-correlation": self.correlation,
        }
        if self.cause:
            headers["ce-cause"] = self.cause
        if self.trace is not None:
            headers["traceparent"] = str(self.trace)
            headers |= {"tracestate": self.trace.state} if self.trace.state else {}
        return headers

    @classmethod
    def from_headers(cls, headers: Mapping[str, str]) -> Envelope:
        """Read what any CloudEvents producer may write; EnvelopeError names what is missing."""
        try:
            identity = headers["ce-id"]
            return cls(
                id=identity,
                source=headers.get("ce-source", ""),
                type=headers["ce-type"],
                subject=headers.get("ce-subject", ""),
                time=_time(headers.get("ce-time")),
                correlation=headers.get("ce-correlation", identity),
                cause=headers.get("ce-cause", ""),
                trace=Trace.parse(headers.get("traceparent", ""), headers.get("tracestate", "")),
            )
        except KeyError as error:
            raise EnvelopeError(f"header {error} is missing") from error
        except ValueError as error:
            raise EnvelopeError(f"header ce-time is no RFC 3339 time: {error}") from error


def _time(text: str | None) -> datetime:
    """Parse the time, which is optional in CloudEvents: a missing one is the epoch."""
    time = datetime.fromisoformat(text) if text else datetime.fromtimestamp(0, UTC)
    return time if time.tzinfo else time.replace(tzinfo=UTC)
