"""An object that nobody deployed is a warning of the applications in its namespace, while it is."""

from __future__ import annotations

from typing import Any

from tests.flows.agent_fixture import AgentFixture, conditions, config_map
from tests.flows.test_projects import limit


async def test_an_orphan_is_told_when_it_comes_and_forgotten_when_it_goes(
    agent: AgentFixture,
) -> None:
    agent.commit({"web/a.yaml": config_map("a")})
    await limit(agent, orphanedResources={"warn": True, "ignore": [{"kind": "Secret"}]})
    await agent.apply_app("web", "web", project="limited", syncPolicy={"automated": {}})
    app = await agent.until_synced("web", within=120)
    assert "OrphanedResourceWarning" not in conditions(app)

    path = f"/api/v1/namespaces/{agent.destination}"
    metadata: dict[str, Any] = {"name": "left", "namespace": agent.destination}
    for plural, kind in (("secrets", "Secret"), ("configmaps", "ConfigMap")):
        body = {"apiVersion": "v1", "kind": kind, "metadata": metadata}
        await agent.api.apply(f"{path}/{plural}/left", body)
    app = await agent.until(
        lambda app: "OrphanedResourceWarning" in conditions(app), app="web", within=120
    )
    found = conditions(app)["OrphanedResourceWarning"]
    assert found == "Application has 1 orphaned resources"

    await agent.api.delete(f"{path}/configmaps/left")
    await agent.until(
        lambda app: "OrphanedResourceWarning" not in conditions(app), app="web", within=120
    )
