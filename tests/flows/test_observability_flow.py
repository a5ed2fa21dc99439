"""What can be seen of a push from outside: one trace, the metrics, readiness."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import aiohttp

from agent.settings.process_settings import TraceSettings
from playground.pushes import PushWebhook
from tests.flows.agent_fixture import AgentFixture, config_map
from tests.flows.conftest import WEBHOOK_SECRET
from tests.support import eventually

AUTOMATED: dict[str, Any] = {"automated": {}}


async def get(agent: AgentFixture, path: str) -> tuple[int, str]:
    url = f"http://127.0.0.1:{agent.agent.metrics_port}{path}"
    async with aiohttp.ClientSession() as http, http.get(url) as response:
        return response.status, await response.text()


def spans_in(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


async def test_a_push_is_one_trace_with_a_span_for_each_room(
    stopped_agent: AgentFixture, tmp_path: Path
) -> None:
    """GitHub's token is unset here, so the delivery is believed without proof."""
    agent, file = stopped_agent, tmp_path / "spans.jsonl"
    agent.settings = agent.settings.model_copy(update={"trace": TraceSettings(file=file)})
    agent.commit({"web/a.yaml": config_map("a", x="1")})
    async with agent.running() as running:
        await agent.apply_app("web", "web", syncPolicy=AUTOMATED)
        await agent.until_synced("web")
        url = f"http://127.0.0.1:{running.port}/api/webhook"
        agent.repository.webhook = PushWebhook(url=url, secret=WEBHOOK_SECRET)
        sha = agent.commit({"web/a.yaml": config_map("a", x="2")})
        await agent.until_synced_to("web", sha)
    agent.repository.webhook = None

    spans = spans_in(file)
    (root,) = [span for span in spans if span["name"] == "webhook"]
    assert root["attributes"]["gitops.revision"] == sha
    trace = [s for s in spans if s["context"]["trace_id"] == root["context"]["trace_id"]]
    known = {span["context"]["span_id"] for span in trace}
    assert {"refresh", "render", "compare", "step"} <= {span["name"] for span in trace}
    assert all(span["parent_id"] in known for span in trace if span is not root)


async def test_an_agent_at_work_is_ready_and_its_applications_are_measured(
    agent: AgentFixture,
) -> None:
    agent.commit({"web/a.yaml": config_map("a", x="1")})
    await agent.apply_app("web", "web", syncPolicy=AUTOMATED)
    await agent.until_synced("web")

    samples = (
        'sync_status="Synced"',
        'argocd_app_sync_total{name="web"',
        'argocd_git_request_total{repo="',
        "argocd_cluster_events_total{",
        'gitops_handler_seconds_count{handler="render",outcome="handled"}',
        "gitops_bus_connected 1.0",
    )

    async def all_measured() -> bool:
        _, text = await get(agent, "/metrics")
        assert [sample for sample in samples if sample not in text] == []
        return True

    await eventually(all_measured)
    assert (await get(agent, "/readyz"))[0] == 200
