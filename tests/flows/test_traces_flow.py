"""Traces of a real agent and a real service, as a collector gets them over OTLP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bus.trace import Trace
from playground.pushes import PushWebhook
from tests.collector import CollectedSpan, Collector, collecting
from tests.flows.agent_fixture import AgentFixture, config_map
from tests.flows.conftest import WEBHOOK_SECRET
from tests.flows.linked_agent import open_linked_agent
from tests.support import eventually

AUTOMATED = {"automated": {}}
HEADER = "a-key-of-the-collector-4711"


@pytest.fixture
async def collector(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Collector]:
    async with collecting() as found:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", found.url)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", f"x-api-key={HEADER}")
        yield found


def of_trace(collector: Collector, trace: str) -> list[CollectedSpan]:
    return [span for span in collector.spans if span.trace == trace]


def orphans(spans: list[CollectedSpan], *roots: str) -> list[CollectedSpan]:
    known = {span.span for span in spans} | set(roots)
    return [span for span in spans if span.parent not in known]


async def pushed(agent_fixture: AgentFixture) -> str:
    """The commit of a push that was told by a webhook, once the Application has it."""
    async with agent_fixture.running() as agent:
        await agent_fixture.apply_app("web", "web", syncPolicy=AUTOMATED)
        await agent_fixture.until_synced("web")
        url = f"http://127.0.0.1:{agent.port}/api/webhook"
        agent_fixture.repository.webhook = PushWebhook(url=url, secret=WEBHOOK_SECRET)
        sha = agent_fixture.commit({"web/a.yaml": config_map("web", x="2")})
        await agent_fixture.until_synced_to("web", sha)
    agent_fixture.repository.webhook = None
    return sha


async def test_a_push_is_one_trace_at_the_collector(
    stopped_agent: AgentFixture, collector: Collector
) -> None:
    stopped_agent.commit({"web/a.yaml": config_map("web", x="1")})
    sha = await pushed(stopped_agent)

    (root,) = collector.named("webhook")
    trace = of_trace(collector, root.trace)
    assert root.parent == ""
    assert root.attributes["gitops.revision"] == sha
    assert {"refresh", "render", "compare", "step"} <= {span.name for span in trace}
    assert orphans(trace, "") == []
    assert {span.service for span in trace} == {stopped_agent.settings.agent}
    assert {it["x-api-key"] for it in collector.headers} == {HEADER}


async def test_a_push_is_done_while_the_collector_gives_no_answer(
    stopped_agent: AgentFixture, collector: Collector
) -> None:
    collector.open.clear()
    stopped_agent.commit({"web/a.yaml": config_map("web", x="1")})
    await pushed(stopped_agent)

    assert collector.asked
    assert collector.spans == []


async def test_a_sync_asked_of_the_service_is_one_trace_over_both_processes(
    stopped_agent: AgentFixture, collector: Collector, database_url: str, tmp_path: Path
) -> None:
    agent_fixture, caller = stopped_agent, Trace.start()
    async with open_linked_agent(agent_fixture, database_url, tmp_path) as linked_agent:
        agent_fixture.commit({"web/config.yaml": config_map("web", a="1")})
        await agent_fixture.apply_app("web", "web")
        (app,) = await eventually(lambda: linked_agent.admin.items("/applications"), what="the app")
        await agent_fixture.until(
            lambda it: it["status"]["sync"].get("status") == "OutOfSync", app="web"
        )
        path, context = f"/applications/{app['id']}/sync", {"traceparent": str(caller)}
        ended = await linked_agent.admin.order("POST", path, {}, context)
        assert ended["phase"] == "succeeded"
        token = linked_agent.admin.http.headers["Authorization"].removeprefix("Bearer ")

    trace = of_trace(collector, caller.trace_id)
    (request,) = collector.named("POST /api/v1/applications/{id}/sync")
    published, done = sorted(
        collector.named("task sync"), key=lambda it: it.service == agent_fixture.settings.agent
    )
    (command,) = [span for span in trace if span.parent == done.span and span.name == "sync"]
    assert (request.service, request.parent) == ("gitops-service", caller.span_id)
    assert (published.service, published.parent) == ("gitops-service", request.span)
    assert (done.service, done.parent) == (agent_fixture.settings.agent, published.span)
    assert command.attributes["gitops.event"] == "sync.v1"
    assert "step" in {span.name for span in trace}
    assert orphans(trace, caller.span_id) == []
    everything = b"".join(collector.bodies)
    assert [it for it in (token, HEADER, WEBHOOK_SECRET) if it.encode() in everything] == []
