"""Traces: one per push, one span per hop, from the ids the bus carries in `traceparent`.

The bus has already decided every span's id when a hop is over, so no tracer runs along: finished
spans are built and handed to an OpenTelemetry span processor, which batches them to an exporter.
Without a place to send them nothing is built at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags
from opentelemetry.trace.span import TraceState

from bus.trace import Trace

if TYPE_CHECKING:
    from collections.abc import Sequence

_NANO = 1_000_000_000
Attributes = Mapping[str, str | int | float | bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedSpan:
    """`started` in seconds since the epoch; `error` empty where all went well."""

    name: str
    trace: Trace
    parent: Trace | None = None
    started: float
    seconds: float
    attributes: Attributes = field(default_factory=dict)
    error: str = ""


class Spans:
    """Where finished spans go; with no processor, nowhere."""

    def __init__(self, processor: SpanProcessor | None = None, source: str = "gitops") -> None:
        self._processor = processor
        self._resource = Resource.create({"service.name": source})

    def record(self, span: FinishedSpan) -> None:
        if self._processor is not None:
            self._processor.on_end(self._readable(span))

    def close(self) -> None:
        """Send what waits; blocks for as long as the exporter takes."""
        if self._processor is not None:
            self._processor.shutdown()

    def _readable(self, span: FinishedSpan) -> ReadableSpan:
        started = int(span.started * _NANO)
        return ReadableSpan(
            name=span.name,
            context=_context(span.trace),
            parent=_context(span.parent) if span.parent else None,
            resource=self._resource,
            attributes=dict(span.attributes),
            kind=SpanKind.CONSUMER if span.parent else SpanKind.SERVER,
            status=Status(StatusCode.ERROR, span.error) if span.error else Status(),
            start_time=started,
            end_time=started + int(span.seconds * _NANO),
        )


class JsonFile(SpanExporter):
    """Appends each span as one line of JSON; the folder has to exist."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        lines = "".join(span.to_json(indent=None) + "\n" for span in spans)
        try:
            with self._file.open("a", encoding="utf-8") as out:
                out.write(lines)
        except OSError:
            return SpanExportResult.FAILURE
        return SpanExportResult.SUCCESS


def _context(trace: Trace) -> SpanContext:
    return SpanContext(
        trace_id=int(trace.trace_id, 16),
        span_id=int(trace.span_id, 16),
        is_remote=False,
        trace_flags=TraceFlags(int(trace.flags, 16)),
        trace_state=TraceState.from_header([trace.state] if trace.state else []),
    )
