"""Trace: where an event stands in a trace, as W3C Trace Context writes it in `traceparent`.

The bus only carries the context and gives each hop its own span id; what becomes of spans is the
observer's affair. https://www.w3.org/TR/trace-context/
"""

from __future__ import annotations

import re

import msgspec

from bus.ids import new_span_id, new_trace_id

_PARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?")
_NONE = ("0" * 32, "0" * 16)


class Trace(msgspec.Struct, frozen=True, kw_only=True):
    """The span that said an event; `state` is the vendors' part and is handed on as it came."""

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
        """None where `parent` is no valid context: the standard says to start a new trace then."""
        match = _PARENT.fullmatch(parent)
        if match is None or parent.startswith("ff") or match[1] == _NONE[0] or match[2] == _NONE[1]:
            return None
        return cls(trace_id=match[1], span_id=match[2], flags=match[3], state=state)

    def child(self) -> Trace:
        """The next hop's own span in the same trace."""
        return Trace(
            trace_id=self.trace_id, span_id=new_span_id(), flags=self.flags, state=self.state
        )
