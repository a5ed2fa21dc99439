"""What the observer makes of hops: numbers, spans, log lines."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from agent.observe.app_info import AppInfo
from agent.observe.dispatch_observer import DispatchObserver
from agent.observe.metrics import AgentMetrics, make_metrics, watch_lag
from bus.dispatch_observer import DispatchHop, DispatchOutcome
from bus.envelope import Envelope
from bus.events import Event, ManifestsRendered, OperationFinished, RefreshApp
from bus.identity import AppKey, Digest, Revision
from bus.route import Route
from bus.spans import Spans, SpanSource, open_spans
from bus.status import OperationPhase
from bus.trace import Trace
from handlers.application.application import Application, Metadata
from handlers.application.spec import ApplicationSpec, Automated, Destination, Source, SyncPolicy
from tests.spans import KeptSpans

APP = AppKey("argocd", "shop")
RENDERED = ManifestsRendered(
    app=APP, revision=Revision("a" * 40), digest=Digest("sha256:1"), objects=3, cached=True
)


async def fails_for_space(_: Event) -> Sequence[Event]:
    return ()


ROUTE = Route(
    name="render", event=RefreshApp, handler=fails_for_space, lane=lambda event: str(event.key)
)


def envelope(trace: Trace) -> Envelope:
    return Envelope(
        id="e1",
        source="/gitops/acme/prod1",
        type="ask.render.v1",
        subject=str(APP),
        time=datetime.now(UTC),
        correlation="c1",
        trace=trace,
    )


def hop(
    outcome: DispatchOutcome = DispatchOutcome.HANDLED, *results: Event, trace: Trace | None = None
) -> DispatchHop:
    parent = trace or Trace.start()
    return DispatchHop(
        route=ROUTE,
        envelope=envelope(parent),
        event=RefreshApp(app=APP),
        span=parent.child(),
        started=1_700_000_000.0,
        seconds=0.25,
        outcome=outcome,
        results=results,
        reason="" if outcome is DispatchOutcome.HANDLED else "because",
    )


def observer(spans: Spans | None = None) -> tuple[DispatchObserver, AgentMetrics]:
    metrics = make_metrics()
    return DispatchObserver(metrics=metrics, spans=spans or Spans()), metrics


def value(metrics: AgentMetrics, sample: str, /, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(sample, labels)


def test_a_hop_counts_in_its_room() -> None:
    watching, metrics = observer()
    watching.on_taken(ROUTE, envelope(Trace.start()), 0.5)
    watching.on_handled(hop())

    assert value(metrics, "gitops_queue_seconds_sum", handler="render") == 0.5
    assert value(metrics, "gitops_handler_seconds_sum", handler="render", outcome="handled") == 0.25


def test_a_dead_letter_is_counted_and_logged_as_an_error() -> None:
    watching, metrics = observer()
    with capture_logs() as logs:
        watching.on_dead(ROUTE, "no such type")

    assert value(metrics, "gitops_dead_letters_total", handler="render") == 1
    assert [(line["log_level"], line["reason"]) for line in logs] == [("error", "no such type")]


def test_facts_are_counted_by_what_they_say() -> None:
    watching, metrics = observer()
    finished = OperationFinished(
        app=APP, operation="o1", phase=OperationPhase.FAILED, revision=Revision("a" * 40)
    )
    watching.on_handled(hop(DispatchOutcome.HANDLED, RENDERED, finished))

    labels = {"namespace": "argocd", "name": "shop", "project": "default", "phase": "Failed"}
    assert value(metrics, "gitops_renders_total", cached="true") == 1
    assert value(metrics, "argocd_app_sync_total", **labels) == 1
    assert value(metrics, "gitops_facts_total", type="operation.finished.v1") == 1


@pytest.mark.parametrize(
    ("phase", "level"), [(OperationPhase.SUCCEEDED, "info"), (OperationPhase.ERROR, "warning")]
)
def test_a_fact_is_one_log_line(phase: OperationPhase, level: str) -> None:
    watching, _ = observer()
    finished = OperationFinished(app=APP, operation="o1", phase=phase, revision=Revision("a" * 40))
    with capture_logs() as logs:
        watching.on_handled(hop(DispatchOutcome.HANDLED, finished))

    (line,) = logs
    assert (line["log_level"], line["about"], line["correlation"]) == (level, "argocd/shop", "c1")
    assert line["phase"] == phase


def test_hops_of_one_push_are_one_trace() -> None:
    kept = KeptSpans()
    watching, _ = observer(Spans(sinks=(kept,)))
    push = Trace.start()
    first = hop(trace=push)
    watching.on_handled(first)
    watching.on_handled(hop(trace=first.span))
    watching.on_handled(hop(DispatchOutcome.FAILED, trace=first.span))

    one, two, three = kept.spans
    assert one.parent is not None
    assert two.parent is not None
    assert one.parent.trace_id == push.trace_id
    assert two.parent.span_id == one.trace.span_id
    assert (two.error, three.error) == ("", "because")
    assert one.seconds == 0.25


def test_spans_are_appended_to_a_file(tmp_path: Path) -> None:
    file = tmp_path / "spans.jsonl"
    dropped = make_metrics().spans_dropped
    spans = open_spans({}, SpanSource(name="prod1"), dropped, file)
    watching, _ = observer(spans)
    for _ in range(2):
        watching.on_handled(hop())
    spans.close()

    lines = [json.loads(text) for text in file.read_text().splitlines()]
    assert [line["name"] for line in lines] == ["render", "render"]
    assert lines[0]["attributes"]["gitops.key"] == "argocd/shop"


def test_app_info_is_read_from_the_index_at_each_scrape() -> None:
    apps: list[Application] = []

    class Index:
        def all(self) -> Sequence[Application]:
            return apps

    metrics = make_metrics()
    metrics.registry.register(AppInfo(Index()))
    assert b"argocd_app_info{" not in metrics.text()

    spec = ApplicationSpec(
        source=Source(repo_url="https://me:hush@git.example/a"),
        destination=Destination(name="in-cluster", namespace="shop"),
        sync_policy=SyncPolicy(automated=Automated()),
    )
    apps.append(Application(metadata=Metadata(name="shop", namespace="argocd"), spec=spec))

    expected = {
        "namespace": "argocd",
        "name": "shop",
        "project": "default",
        "repo": "https://git.example/a",
        "dest_server": "in-cluster",
        "dest_namespace": "shop",
        "sync_status": "Unknown",
        "health_status": "Unknown",
        "operation": "",
        "autosync_enabled": "true",
    }
    assert value(metrics, "argocd_app_info", **expected) == 1


async def test_a_blocked_loop_shows_as_lag() -> None:
    seen: asyncio.Queue[float] = asyncio.Queue()

    class Gauge:
        def set(self, value: float) -> None:
            seen.put_nowait(value)

    task = asyncio.create_task(watch_lag(Gauge(), interval=0.001), name="lag")
    try:
        async with asyncio.timeout(60):
            await seen.get()
            time.sleep(0.05)  # noqa: ASYNC251  this is what blocks the loop
            while await seen.get() < 0.04:
                pass
    finally:
        task.cancel()
