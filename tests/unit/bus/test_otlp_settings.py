"""The standard variables of OpenTelemetry, as they are read."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping

import pytest

from bus.spans import Sampler, SamplerKind, otlp_settings
from bus.trace import Trace

AT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"}
SAMPLED, UNSAMPLED = Trace.start(), Trace.parse(f"00-{'1' * 32}-{'2' * 16}-00")
LOW, HIGH = "0" * 16 + "0" * 15 + "1", "0" * 16 + "f" * 16
"""Trace ids at both ends of what a ratio looks at."""


@pytest.mark.parametrize(
    ("environ", "exports"),
    [
        ({}, False),
        (AT, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://collector:4318/v1/traces"}, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": ""}, False),
        ({**AT, "OTEL_SDK_DISABLED": "true"}, False),
        ({**AT, "OTEL_SDK_DISABLED": "no"}, True),
        ({**AT, "OTEL_TRACES_EXPORTER": "none"}, False),
        ({**AT, "OTEL_TRACES_EXPORTER": "otlp"}, True),
        ({**AT, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, True),
    ],
)
def test_spans_are_exported_where_an_endpoint_is_set_and_nothing_stands_against_it(
    environ: Mapping[str, str], *, exports: bool
) -> None:
    found = otlp_settings(environ)
    assert (found.exports, found.warnings) == (exports, ())


@pytest.mark.parametrize(
    ("environ", "words"),
    [
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, ("'grpc'", "http/protobuf", "4318")),
        ({"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/json"}, ("'http/json'", "http/protobuf")),
        ({"OTEL_TRACES_EXPORTER": "zipkin"}, ("'zipkin'", "otlp")),
    ],
)
def test_what_is_not_supported_is_said_and_nothing_is_sent(
    environ: Mapping[str, str], words: tuple[str, ...]
) -> None:
    found = otlp_settings({**AT, **environ})
    (warning,) = found.warnings
    assert not found.exports
    assert [word for word in words if word not in warning] == []


@pytest.mark.parametrize(
    ("name", "argument", "sampler", "warnings"),
    [
        ("", "", Sampler(), 0),
        ("always_off", "", Sampler(kind=SamplerKind.ALWAYS_OFF), 0),
        ("traceidratio", "0.25", Sampler(kind=SamplerKind.RATIO, ratio=0.25), 0),
        ("parentbased_traceidratio", "", Sampler(kind=SamplerKind.PARENT_RATIO), 0),
        ("parentbased_traceidratio", "2", Sampler(kind=SamplerKind.PARENT_RATIO), 1),
        ("traceidratio", "half", Sampler(kind=SamplerKind.RATIO), 1),
        ("traceidratio", "nan", Sampler(kind=SamplerKind.RATIO), 1),
        ("sometimes", "", Sampler(), 1),
    ],
)
def test_a_sampler_that_is_not_understood_is_the_usual_one_and_said(
    name: str, argument: str, sampler: Sampler, warnings: int
) -> None:
    found = otlp_settings({"OTEL_TRACES_SAMPLER": name, "OTEL_TRACES_SAMPLER_ARG": argument})
    assert (found.sampler, len(found.warnings)) == (sampler, warnings)


@pytest.mark.parametrize(
    ("kind", "root", "below_sampled", "below_unsampled"),
    [
        (SamplerKind.ALWAYS_ON, "01", "01", "01"),
        (SamplerKind.ALWAYS_OFF, "00", "00", "00"),
        (SamplerKind.PARENT_ALWAYS_ON, "01", "01", "00"),
        (SamplerKind.PARENT_ALWAYS_OFF, "00", "01", "00"),
    ],
)
def test_the_flag_of_a_span_is_its_samplers_decision(
    kind: SamplerKind, root: str, below_sampled: str, below_unsampled: str
) -> None:
    spans = [Sampler(kind=kind).span(parent) for parent in (None, SAMPLED, UNSAMPLED)]
    assert [span.flags for span in spans] == [root, below_sampled, below_unsampled]
    assert spans[1].trace_id == SAMPLED.trace_id


@pytest.mark.parametrize(("trace_id", "flags"), [(LOW, "01"), (HIGH, "00")])
def test_a_ratio_decides_by_the_trace_id_alone(trace_id: str, flags: str) -> None:
    sampler = Sampler(kind=SamplerKind.RATIO, ratio=0.5)
    parent = Trace(trace_id=trace_id, span_id="3" * 16)
    assert {sampler.span(parent).flags for _ in range(3)} == {flags}


@pytest.mark.parametrize("state", ["a=1\r\nce-type: x", "a" * 513, "ä=1"])
def test_a_state_that_is_no_header_is_left_out(state: str) -> None:
    trace = Trace.parse(str(SAMPLED), state)
    assert trace is not None
    assert (trace.trace_id, trace.state) == (SAMPLED.trace_id, "")


_LOADED = """
import asyncio, sys, service.lifecycle, agent.lifecycle
from agent.observe.metrics import make_metrics
from bus.spans import SpanSource, open_spans
open_spans({}, SpanSource(name="a"), make_metrics().spans_dropped).close()
names = {"opentelemetry.sdk.trace", "opentelemetry.exporter", "requests", "google.protobuf"}
print(sorted(names & set(sys.modules)))
"""


def test_no_exporter_is_imported_where_nothing_is_exported() -> None:
    """The client of Redis imports the SDK's metrics by itself wherever they are installed."""
    asked = subprocess.run(
        [sys.executable, "-c", _LOADED], capture_output=True, check=True, text=True, timeout=60
    )
    assert asked.stdout.strip() == "[]"
