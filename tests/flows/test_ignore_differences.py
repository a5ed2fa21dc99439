"""Fields that ignoreDifferences names: no difference, no automated sync, and what a sync does."""

from __future__ import annotations

from typing import Any

from tests.flows.agent_fixture import AgentFixture, conditions, config_map, is_synced
from tests.support import eventually

HEALING = {"automated": {"prune": True, "selfHeal": True}}
DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  paused: true
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: "registry.example/web:1.0"}
"""
OF_DEPLOYMENTS = {"group": "apps", "kind": "Deployment"}


async def patch(agent: AgentFixture, name: str, body: dict[str, Any], manager: str) -> None:
    """Change an object of the destination as another manager."""
    path = f"/{name.format(f'namespaces/{agent.destination}')}"
    await agent.parts.client.merge_patch(path, body, {"fieldManager": manager})


async def scale(agent: AgentFixture, replicas: int) -> None:
    """Scale as an autoscaler does."""
    name = "apis/apps/v1/{}/deployments/web/scale"
    await patch(agent, name, {"spec": {"replicas": replicas}}, "kube-controller-manager")


async def spec_of(agent: AgentFixture) -> dict[str, Any]:
    live = await agent.get("apps/v1/deployments/web")
    assert live is not None
    found: dict[str, Any] = live["spec"]
    return found


async def drift_is_healed(agent: AgentFixture) -> None:
    """Change another object and wait for its heal: what came before has been looked at too."""
    await patch(agent, "api/v1/{}/configmaps/a", {"data": {"key": "drift"}}, "somebody")

    async def healed() -> bool:
        live = await agent.get("configmaps/a")
        return live is not None and live["data"]["key"] == "git"

    await eventually(healed, within=40)
    await agent.until(
        lambda app: is_synced(app, health="Suspended") and "operation" not in app, app="web"
    )


async def sync_by_hand(agent: AgentFixture) -> None:
    before = await agent.app("web")
    began = before["status"]["operationState"]["startedAt"]
    sync = {"syncOptions": before["spec"]["syncPolicy"].get("syncOptions", [])}
    await agent.patch_app("web", {"operation": {"sync": sync}})

    def ended(app: dict[str, Any]) -> bool:
        state = app["status"]["operationState"]
        by_hand = not state["operation"].get("initiatedBy", {}).get("automated")
        return by_hand and state["phase"] == "Succeeded" and state["startedAt"] >= began

    await agent.until(ended, app="web")


async def test_an_ignored_difference_is_not_healed_and_a_sync_by_hand_writes_it(
    agent: AgentFixture,
) -> None:
    agent.commit({"web/web.yaml": DEPLOYMENT, "web/a.yaml": config_map("a", key="git")})
    rule = {**OF_DEPLOYMENTS, "jsonPointers": ["/spec/replicas", "spec.paused"]}
    await agent.apply_app("web", "web", syncPolicy=HEALING, ignoreDifferences=[rule])
    app = await agent.until_synced("web", health="Suspended")
    assert "spec.ignoreDifferences[0].jsonPointers[1]" in conditions(app)["IgnoreRuleWarning"]
    assert app["status"]["sync"]["comparedTo"]["ignoreDifferences"] == [rule]

    await scale(agent, 3)
    await drift_is_healed(agent)
    assert (await spec_of(agent))["replicas"] == 3

    await sync_by_hand(agent)
    assert (await spec_of(agent))["replicas"] == 1
