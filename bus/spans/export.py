"""A sink of spans in front of an OpenTelemetry exporter: a bounded queue and a thread of its own.

    take -> queue of QUEUE spans -> batch -> exporter, in the SDK's thread

A span counts as waiting until its batch was exported or failed; where too many wait, new spans are
dropped. So neither a slow collector nor one that is away costs more than that memory. Imported by
`opened.py` only, and only where spans are exported.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from threading import Lock, Thread

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags
from opentelemetry.trace.span import TraceState

from bus.spans.drops import SpanDrops
from bus.spans.settings import SpanSource
from bus.spans.span import FinishedSpan, SpanType
from bus.trace import Trace

CLOSE_SECONDS = 5.0
QUEUE = 2048
_BATCH = 512
_DELAY_MILLIS = 1000
_NANO = 1_000_000_000
_KINDS = {
    SpanType.INTERNAL: SpanKind.INTERNAL,
    SpanType.SERVER: SpanKind.SERVER,
    SpanType.CLIENT: SpanKind.CLIENT,
    SpanType.PRODUCER: SpanKind.PRODUCER,
    SpanType.CONSUMER: SpanKind.CONSUMER,
}


class QueuedExport:
    """Implements `SpanSink`."""

    def __init__(
        self, exporter: SpanExporter, source: Resource, drops: SpanDrops, queue: int = QUEUE
    ) -> None:
        self._exporter = _CountedExporter(exporter, drops)
        self._processor = BatchSpanProcessor(
            self._exporter,
            max_queue_size=queue,
            schedule_delay_millis=_DELAY_MILLIS,
            max_export_batch_size=min(_BATCH, queue),
        )
        self._resource = source
        self._drops = drops
        self._most = queue

    def take(self, span: FinishedSpan) -> None:
        if self._exporter.enter(self._most):
            self._processor.on_end(_readable(span, self._resource))
        else:
            self._drops.note("queue", 1)

    def close(self) -> None:
        """Export what waits, for at most CLOSE_SECONDS; the rest is dropped."""
        ending = Thread(target=self._processor.shutdown, name="spans-shutdown", daemon=True)
        ending.start()
        ending.join(CLOSE_SECONDS)
        if ending.is_alive():
            self._exporter.abandon()
        self._drops.close()


class _CountedExporter(SpanExporter):
    """Counts what waits; the SDK calls it in its thread."""

    def __init__(self, exporter: SpanExporter, drops: SpanDrops) -> None:
        self._exporter = exporter
        self._drops = drops
        self._lock = Lock()
        self._waiting = 0
        self._abandoned = False

    def enter(self, most: int) -> bool:
        """Count one more that waits; False where `most` wait already."""
        with self._lock:
            if self._waiting >= most:
                return False
            self._waiting += 1
            return True

    def abandon(self) -> None:
        """Give up what waits, and end an export that is about to be tried again."""
        with self._lock:
            lost, self._waiting, self._abandoned = self._waiting, 0, True
        if lost:
            self._drops.note("export", lost)
        self._exporter.shutdown()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        if self._abandoned:
            return SpanExportResult.FAILURE
        result = SpanExportResult.FAILURE
        try:
            result = self._exporter.export(spans)
        finally:
            self._left(len(spans), result)
        return result

    def _left(self, count: int, result: SpanExportResult) -> None:
        with self._lock:
            if self._abandoned:
                return
            self._waiting -= count
        if result is SpanExportResult.SUCCESS:
            self._drops.exported()
        else:
            self._drops.note("export", count)

    def shutdown(self) -> None:
        self._exporter.shutdown()


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


def resource_of(source: SpanSource) -> Resource:
    """OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES win over what the process calls itself."""
    ours = {"service.name": source.name}
    if source.instance:
        ours["service.instance.id"] = source.instance
    from_environment = Resource.create().attributes
    unnamed = str(from_environment.get("service.name", "")).startswith("unknown_service")
    named = {k: v for k, v in from_environment.items() if not (unnamed and k == "service.name")}
    return Resource({**ours, **named})


def _readable(span: FinishedSpan, resource: Resource) -> ReadableSpan:
    started = int(span.started * _NANO)
    return ReadableSpan(
        name=span.name,
        context=_context(span.trace),
        parent=_context(span.parent) if span.parent else None,
        resource=resource,
        attributes=dict(span.attributes),
        kind=_KINDS[span.type],
        status=Status(StatusCode.ERROR, span.error) if span.error else Status(),
        start_time=started,
        end_time=started + int(span.seconds * _NANO),
    )


def _context(trace: Trace) -> SpanContext:
    return SpanContext(
        trace_id=int(trace.trace_id, 16),
        span_id=int(trace.span_id, 16),
        is_remote=False,
        trace_flags=TraceFlags(int(trace.flags, 16)),
        trace_state=TraceState.from_header([trace.state] if trace.state else []),
    )
