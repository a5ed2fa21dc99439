"""Spans on their way to a collector that is well, ill, slow or away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest
from prometheus_client import Counter
from structlog.testing import capture_logs

from agent.observe.metrics import AgentMetrics, make_metrics
from bus.spans import FinishedSpan, Sampler, SamplerKind, Spans, SpanSource, SpanType, open_spans
from bus.spans.export import QUEUE
from bus.trace import Trace
from tests.collector import Collector, collecting
from tests.spans import KeptSpans
from tests.support import eventually

SOURCE = SpanSource(name="prod1")


@pytest.fixture
async def collector(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Collector]:
    async with collecting() as found:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", found.url)
        yield found


@pytest.fixture
def metrics() -> AgentMetrics:
    return make_metrics()


@asynccontextmanager
async def opened(metrics: AgentMetrics, url: str) -> AsyncIterator[Spans]:
    environ = {"OTEL_EXPORTER_OTLP_ENDPOINT": url}
    spans = open_spans(environ, SOURCE, metrics.spans_dropped)
    try:
        yield spans
    finally:
        await asyncio.to_thread(spans.close)


def span(name: str = "render", trace: Trace | None = None, error: str = "") -> FinishedSpan:
    return FinishedSpan(
        name=name,
        type=SpanType.CONSUMER,
        trace=trace or Trace.start(),
        started=1_700_000_000.0,
        seconds=0.25,
        attributes={"gitops.key": "https://me:hush@git.example/a"},
        error=error,
    )


def dropped(counter: Counter, cause: str) -> float:
    found = (it for metric in counter.collect() for it in metric.samples)
    return sum(
        it.value for it in found if it.name.endswith("_total") and it.labels["cause"] == cause
    )


def messages_of(logs: list[dict[str, object]]) -> Iterator[str]:
    return (str(it["event"]) for it in logs if "spans" in str(it["event"]))


async def test_a_span_arrives_with_its_parent_and_without_credentials(
    collector: Collector, metrics: AgentMetrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
    parent = Trace.start()
    child = span(trace=parent.child(), error="cannot fetch https://me:hush@git.example/a")
    async with opened(metrics, collector.url) as spans:
        spans.record(child)

    (found,) = collector.spans
    assert (found.service, found.trace) == ("prod1", parent.trace_id)
    assert found.span == child.trace.span_id
    assert found.failed
    assert b"hush" not in b"".join(collector.bodies)
    assert b"deployment.environment.name" in b"".join(collector.bodies)


async def test_the_name_of_the_environment_wins(
    collector: Collector, metrics: AgentMetrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "named by the operator")
    async with opened(metrics, collector.url) as spans:
        spans.record(span())
    assert [it.service for it in collector.spans] == ["named by the operator"]


async def test_a_collector_that_refuses_costs_spans_and_one_line_of_the_log(
    collector: Collector, metrics: AgentMetrics
) -> None:
    collector.status = 500
    with capture_logs() as logs:
        async with opened(metrics, collector.url) as spans:
            for count in (1, 2):
                spans.record(span())
                await eventually(
                    lambda: dropped(metrics.spans_dropped, "export") == count  # noqa: B023
                )
            collector.status = 200
            spans.record(span("at last"))
            await eventually(lambda: collector.named("at last"))

    lines = list(messages_of(logs))
    assert len(lines) == 2
    assert lines[-1] == "spans are exported again"
    assert "500" in str(logs[0]["reason"])


async def test_a_collector_that_is_away_costs_spans_and_nothing_else(
    metrics: AgentMetrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with collecting() as gone:
        url = gone.url
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
    with capture_logs() as logs:
        async with opened(metrics, url) as spans:
            spans.record(span())
    assert dropped(metrics.spans_dropped, "export") == 1
    assert len(list(messages_of(logs))) == 1


async def test_no_more_waits_for_a_slow_collector_than_the_queue_holds(
    collector: Collector, metrics: AgentMetrics
) -> None:
    collector.open.clear()
    with capture_logs() as logs:
        async with opened(metrics, collector.url) as spans:
            for _ in range(QUEUE + 10):
                spans.record(span())
            assert dropped(metrics.spans_dropped, "queue") == 10
            await eventually(lambda: collector.asked)
            assert len(list(messages_of(logs))) == 1
        lost = dropped(metrics.spans_dropped, "export")
    assert lost == QUEUE
    assert collector.spans == []


async def test_a_trace_that_is_not_sampled_is_not_recorded() -> None:
    kept = KeptSpans()
    spans = Spans(sinks=(kept,), sampler=Sampler(kind=SamplerKind.ALWAYS_OFF))
    spans.record(span("unseen", spans.sampler.span(None)))
    spans.record(span("seen"))
    assert [it.name for it in kept.spans] == ["seen"]


async def test_a_variable_that_cannot_be_read_is_said_without_its_secret(
    collector: Collector, metrics: AgentMetrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "a token that lacks its name")
    with capture_logs() as logs:
        async with opened(metrics, collector.url) as spans:
            spans.record(span())
    (line,) = logs
    assert "Header format invalid" in line["reason"]
    assert "token" not in str(line)
    assert len(collector.spans) == 1
