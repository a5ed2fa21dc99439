"""Spans are opened with the exporter that the environment names.

The OpenTelemetry packages are imported here and only where spans go somewhere: they cost a start
more than the rest of the bus does.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from pathlib import Path

import structlog
from prometheus_client import Counter

from bus.spans.drops import SpanDrops
from bus.spans.settings import OtlpSettings, SpanSource, otlp_settings
from bus.spans.span import Spans, SpanSink

log = structlog.get_logger()

_EXPORTER = "opentelemetry.exporter.otlp.proto.http.trace_exporter"


def open_spans(
    environ: Mapping[str, str], source: SpanSource, dropped: Counter, file: Path | None = None
) -> Spans:
    """`environ` decides whether and what, `os.environ` how the collector is reached."""
    settings = otlp_settings(environ)
    for warning in settings.warnings:
        log.warning("traces are not set up as asked", reason=warning)
    sinks = tuple(_sinks(settings, source, dropped, file))
    return Spans(sinks=sinks, sampler=settings.sampler)


def _sinks(
    settings: OtlpSettings, source: SpanSource, dropped: Counter, file: Path | None
) -> Iterator[SpanSink]:
    if not settings.exports and file is None:
        return
    from bus.spans.export import JsonFile, QueuedExport, resource_of  # noqa: PLC0415  only where wanted

    resource = resource_of(source)
    if file is not None:
        yield QueuedExport(JsonFile(file), resource, SpanDrops(dropped))
    if settings.exports:
        drops = SpanDrops(dropped)
        drops.listen()
        exporter = importlib.import_module(_EXPORTER).OTLPSpanExporter()
        if drops.reason:
            log.warning("a variable OTEL_EXPORTER_OTLP_* is ignored", reason=drops.reason)
        yield QueuedExport(exporter, resource, drops)
