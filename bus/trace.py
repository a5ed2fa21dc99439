"""A trace context says where an event stands in a trace, in the form of W3C Trace Context.

The bus only carries the context and gives each hop its own span id; the observer records spans. https://www.w3.org/TR/trace-context/
"""

from __future__ import annotations

import re

import msgspec

from bus.identity import new_span_id, new_trace_id

_PARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?")
_NONE = ("0" * 32, "0" * 16)
_STATE = re.compile(r"[\x20-\x7e]{0,512}")
"""A longer or unprintable state is dropped, which the standard permits."""


class Trace(msgspec.Struct, frozen=True, kw_only=True):
    """The span that published an event; `state` is the vendors' part, passed on unchanged."""

    trace_id: str
    span_id: str
    flags: str = "01"
    state: str = ""

    def __str__(self) -> str:
        return f"00-{self.trace_id}-{self.span_id}-{self.flags}"

    @classmethod
    def start(cls) -> Trace:
        return cls(trace_id=new_trace_id(), span_id=new_span_id())

    @classmethod
    def parse(cls, parent: str, state: str = "") -> Trace | None:
        """Parse `traceparent`; None where it is invalid: the standard then starts a new trace."""
        match = _PARENT.fullmatch(parent)
        if match is None or parent.startswith("ff") or match[1] == _NONE[0] or match[2] == _NONE[1]:
            return None
        kept = state if _STATE.fullmatch(state) else ""
        return cls(trace_id=match[1], span_id=match[2], flags=match[3], state=kept)

    def child(self) -> Trace:
        """Make the next hop's own span in the same trace."""
        return Trace(
            trace_id=self.trace_id, span_id=new_span_id(), flags=self.flags, state=self.state
        )
