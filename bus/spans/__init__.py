"""The spans of a process, exported over OTLP or into a file.

The ids of spans are decided before this package is asked (`bus.trace`): a hop, a request or a task
is recorded when it is over. Where nothing exports, no OpenTelemetry package is imported.
"""

from bus.spans.opened import open_spans
from bus.spans.settings import OtlpSettings, SpanSource, otlp_settings
from bus.spans.span import FinishedSpan, Sampler, SamplerKind, Spans, SpanSink, SpanType

__all__ = [
    "FinishedSpan",
    "OtlpSettings",
    "Sampler",
    "SamplerKind",
    "SpanSink",
    "SpanSource",
    "SpanType",
    "Spans",
    "open_spans",
    "otlp_settings",
]
