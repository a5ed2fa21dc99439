"""Spans of the service: requests, tasks and webhooks, as a collector gets them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from bus.link import Offer, SyncArguments, TaskPhase, TaskResult
from bus.trace import Trace
from service.gateway.agent_status import LOST_AFTER
from service.gateway.task_ends import TaskSpans, sweep
from service.gateway.task_store import QueuedTask
from service.lifecycle import now
from service.store.tables import agents
from tests.collector import Collector, collecting
from tests.service.fake_agent import FakeOutbox, connect
from tests.service.service_fixture import RunningService, open_service, settings
from tests.support import eventually

HEADER = "a-key-of-the-collector-4711"


@pytest.fixture
async def collector() -> AsyncIterator[Collector]:
    async with collecting() as found:
        yield found


@asynccontextmanager
async def traced(
    database_url: str, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[RunningService]:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", f"x-api-key={HEADER}")
    async with open_service(settings(database_url)) as service:
        yield RunningService(service)


async def submit(running_service: RunningService, trace: Trace, **more: Any) -> str:
    (agent,) = await running_service.rows(agents)
    ids = {"account_id": agent.account_id, "agent_id": agent.id}
    new = QueuedTask(
        **ids, arguments=SyncArguments(), subject="argocd/shop", actor="a", trace=trace, **more
    )
    dependencies = running_service.service.dependencies
    async with dependencies.engine.begin() as connection:
        return await dependencies.tasks.submit(connection, new)


async def test_a_request_is_named_by_its_route_and_holds_nothing_that_was_sent(
    database_url: str, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    parent = Trace.start()
    async with traced(database_url, collector, monkeypatch) as running_service:
        agent, token = await running_service.agent("one"), await running_service.bearer()
        headers = {"Authorization": f"Bearer {token}", "traceparent": str(parent)}
        url = f"{running_service.service.url}/api/v1/agents/{agent}?password=hunter2"
        async with aiohttp.ClientSession() as http, http.get(url, headers=headers) as answer:
            status = answer.status
        async with aiohttp.ClientSession() as http:
            await http.get(f"{running_service.service.url}/healthz")

    (found,) = collector.spans
    assert found.name == "GET /api/v1/agents/{id}"
    assert (found.trace, found.parent) == (parent.trace_id, parent.span_id)
    assert found.attributes == {
        "http.request.method": "GET",
        "http.route": "/api/v1/agents/{id}",
        "http.response.status_code": str(status),
    }
    sent = b"".join(collector.bodies)
    assert [it for it in (agent, token, "hunter2", HEADER) if it.encode() in sent] == []


async def test_a_task_is_below_its_request_and_above_what_the_agent_does(
    database_url: str, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    request, outbox = Trace.start(), FakeOutbox()
    async with traced(database_url, collector, monkeypatch) as running_service:
        identity = await running_service.enrolled()
        async with connect(identity) as link:
            await link.hello(identity, outbox.epoch)
            await submit(running_service, request)
            task = (await link.until(Offer)).task
            result = TaskResult(id=task.id, phase=TaskPhase.FAILED, code="conflict")
            await link.put([outbox.task("result.v1", result)])
            (span,) = await eventually(lambda: collector.named("task sync"))

    trace = Trace.parse(task.traceparent)
    assert trace is not None
    assert (span.trace, span.span) == (request.trace_id, trace.span_id)
    assert span.parent == request.span_id
    assert span.failed
    assert span.attributes["gitops.task"] == task.id


async def test_a_task_that_nobody_answered_has_a_span(
    database_url: str, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with traced(database_url, collector, monkeypatch) as running_service:
        await running_service.agent()
        id_ = await submit(running_service, Trace.start(), not_after=now())
        dependencies = running_service.service.dependencies
        ended = await sweep(dependencies.engine, now() + 2 * LOST_AFTER)
        await TaskSpans(engine=dependencies.engine, spans=dependencies.spans).record(ended)

    assert id_ in {it.attributes["gitops.task"] for it in collector.named("task sync")}


async def test_the_callers_context_goes_to_the_agent_where_the_service_sends_no_traces(
    database_url: str,
) -> None:
    caller = Trace.parse(str(Trace.start()), "vendor=1")
    assert caller is not None
    async with open_service(settings(database_url)) as service:
        running_service = RunningService(service)
        identity = await running_service.enrolled()
        await submit(running_service, caller)
        async with connect(identity) as link:
            await link.hello(identity, "e")
            task = (await link.until(Offer)).task
    assert Trace.parse(task.traceparent, task.tracestate) == caller


async def test_the_service_answers_and_ends_while_the_collector_gives_no_answer(
    database_url: str, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    collector.open.clear()
    async with asyncio.timeout(120):
        async with traced(database_url, collector, monkeypatch) as running_service:
            assert (await running_service.call("GET", "/agents"))[0] == 200
            await eventually(lambda: collector.asked)
            assert (await running_service.call("GET", "/agents"))[0] == 200
    assert collector.spans == []
