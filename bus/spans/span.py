"""A finished span, the sampler that chose its trace, and the port of its sink.

The bus has already decided every span's id when a hop is over, so no tracer runs along: a span is
recorded as a whole, once. Texts are masked here, before any exporter sees them.

A sampler decides where a trace begins and, unless it is parent-based, again at each span. The
decision is the flag `sampled` of the trace context, so every process of one trace knows it.
https://opentelemetry.io/docs/specs/otel/trace/sdk/#sampling
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from msgspec.structs import replace

from bus.redaction import masked
from bus.trace import Trace

_SAMPLED = 0x01
_LOW_BITS = (1 << 64) - 1


class SamplerKind(StrEnum):
    """Values of OTEL_TRACES_SAMPLER."""

    ALWAYS_ON = "always_on"
    ALWAYS_OFF = "always_off"
    RATIO = "traceidratio"
    PARENT_ALWAYS_ON = "parentbased_always_on"
    PARENT_ALWAYS_OFF = "parentbased_always_off"
    PARENT_RATIO = "parentbased_traceidratio"

    @property
    def is_parent_based(self) -> bool:
        return self.startswith("parentbased_")

    @property
    def takes_ratio(self) -> bool:
        return self in (SamplerKind.RATIO, SamplerKind.PARENT_RATIO)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampler:
    kind: SamplerKind = SamplerKind.PARENT_ALWAYS_ON
    ratio: float = 1.0
    """Part of the traces, from 0 to 1, that a sampler by trace id records."""

    def span(self, parent: Trace | None) -> Trace:
        """Return a new span below `parent`, or the first span of a new trace."""
        span = Trace.start() if parent is None else parent.child()
        if parent is not None and self.kind.is_parent_based:
            return span
        return replace(span, flags=_with_flag(span.flags, sampled=self._samples(span.trace_id)))

    def _samples(self, trace_id: str) -> bool:
        match self.kind:
            case SamplerKind.ALWAYS_ON | SamplerKind.PARENT_ALWAYS_ON:
                return True
            case SamplerKind.ALWAYS_OFF | SamplerKind.PARENT_ALWAYS_OFF:
                return False
            case _:
                return int(trace_id, 16) & _LOW_BITS < round(self.ratio * (_LOW_BITS + 1))


def is_sampled(trace: Trace) -> bool:
    return bool(int(trace.flags, 16) & _SAMPLED)


def _with_flag(flags: str, *, sampled: bool) -> str:
    others = int(flags, 16) & ~_SAMPLED
    return f"{others | sampled:02x}"


Attributes = Mapping[str, str | int | float | bool]


class SpanType(StrEnum):
    """Kinds of spans as OpenTelemetry has them."""

    INTERNAL = "internal"
    SERVER = "server"
    CLIENT = "client"
    PRODUCER = "producer"
    CONSUMER = "consumer"


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedSpan:
    """`started` in seconds since the epoch; `error` empty where all went well."""

    name: str
    type: SpanType
    trace: Trace
    parent: Trace | None = None
    started: float
    seconds: float
    attributes: Attributes = field(default_factory=dict)
    error: str = ""


class SpanSink(Protocol):
    """An exporter of finished spans; it never blocks and never raises."""

    def take(self, span: FinishedSpan) -> None: ...

    def close(self) -> None:
        """Send what waits, for a bounded time; blocks that long."""


@dataclass(frozen=True, slots=True)
class Spans:
    """The spans of one process; without a sink they go nowhere."""

    sinks: tuple[SpanSink, ...] = ()
    sampler: Sampler = field(default_factory=Sampler)

    @property
    def is_recording(self) -> bool:
        return bool(self.sinks)

    def record(self, span: FinishedSpan) -> None:
        if self.sinks and is_sampled(span.trace):
            safe = _masked(span)
            for sink in self.sinks:
                sink.take(safe)

    def close(self) -> None:
        """Send what waits; blocks for a bounded time."""
        for sink in self.sinks:
            sink.close()


def _masked(span: FinishedSpan) -> FinishedSpan:
    attributes = {
        name: masked(value) if isinstance(value, str) else value
        for name, value in span.attributes.items()
    }
    return dataclasses.replace(span, attributes=attributes, error=masked(span.error))
