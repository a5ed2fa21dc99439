"""What can be seen of a push from outside: one trace, the metrics, readiness."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from agent.settings import TraceSettings
from playground.pushes import Webhook
from tests.flows.conftest import WEBHOOK_SECRET
from tests.flows.house import House, config_map
from tests.support import eventually

pytestmark = pytest.mark.flow

AUTOMATED: dict[str, Any] = {"automated": {}}


async def get(house: House, path: str) -> tuple[int, str]:
    url = f"http://127.0.0.1:{house.agent.metrics_port}{path}"
    async with aiohttp.ClientSession() as http, http.get(url) as response:
        return response.status, await response.text()


def spans_in(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


async def test_a_push_is_one_trace_with_a_span_for_each_room(
    quiet_house: House, tmp_path: Path
) -> None:
    """GitHub's token is unset here, so the delivery is believed without proof."""
    house, file = quiet_house, tmp_path / "spans.jsonl"
    house.settings = house.settings.model_copy(update={"trace": TraceSettings(file=file)})
    house.commit({"web/a.yaml": config_map("a", x="1")})
    async with house.running() as agent:
        await house.apply_app("web", "web", syncPolicy=AUTOMATED)
        await house.until_synced("web")
        url = f"http://127.0.0.1:{agent.port}/api/webhook"
        house.repository.webhook = Webhook(url=url, secret=WEBHOOK_SECRET)
        sha = house.commit({"web/a.yaml": config_map("a", x="2")})
        await house.until(lambda app: app["status"]["sync"].get("revision") == sha, app="web")
    house.repository.webhook = None

    spans = spans_in(file)
    (root,) = [span for span in spans if span["name"] == "webhook"]
    assert root["attributes"]["gitops.revision"] == sha
    trace = [s for s in spans if s["context"]["trace_id"] == root["context"]["trace_id"]]
    known = {span["context"]["span_id"] for span in trace}
    assert {"refresh", "render", "compare", "step"} <= {span["name"] for span in trace}
    assert all(span["parent_id"] in known for span in trace if span is not root)


async def test_an_agent_at_work_is_ready_and_its_applications_are_measured(house: House) -> None:
    house.commit({"web/a.yaml": config_map("a", x="1")})
    await house.apply_app("web", "web", syncPolicy=AUTOMATED)
    await house.until_synced("web")

    samples = (
        'sync_status="Synced"',
        'argocd_app_sync_total{name="web"',
        'argocd_git_request_total{repo="',
        "argocd_cluster_events_total{",
        'gitops_room_seconds_count{outcome="handled",room="render"}',
        "gitops_bus_connected 1.0",
    )

    async def all_measured() -> bool:
        _, text = await get(house, "/metrics")
        assert [sample for sample in samples if sample not in text] == []
        return True

    await eventually(all_measured)
    assert (await get(house, "/readyz"))[0] == 200
