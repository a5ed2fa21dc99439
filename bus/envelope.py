"""Envelope: what is known of an event besides its content.

CloudEvents 1.0 attributes in binary mode: one header each, `ce-` before the name; our extensions
are `ce-correlation` (the first event of the chain) and `ce-cause` (the event that led to this one).
The trace stands in `traceparent` and `tracestate` as everywhere. The schema's version is in the
type.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import msgspec

from bus.trace import Trace

_REQUIRED = {
    "ce-specversion": "1.0",
    "ce-datacontenttype": "application/json",
}
_HEADER_LIMIT = 512


class EnvelopeError(Exception):
    """A message whose headers are not an envelope."""


class Envelope(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    source: str
    """Which agent said it: `/gitops/{account}/{agent}`."""
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
    """CloudEvents makes the time optional: the beginning of time where it is missing."""
    moment = datetime.fromisoformat(text) if text else datetime.fromtimestamp(0, UTC)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
