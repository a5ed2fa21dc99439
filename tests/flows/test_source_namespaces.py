"""Applications of other namespaces are deployed as far as settings and projects let them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bus.identity import AppKey
from handlers.application.source_namespaces import KEY
from tests.flows.agent_fixture import APPLICATIONS, SERVER, AgentFixture, conditions, config_map
from tests.flows.test_projects import limit
from tests.support import eventually


async def test_an_application_of_a_tenant_reaches_only_a_project_that_lists_his_namespace(
    agent: AgentFixture,
) -> None:
    team = agent.destination
    agent.commit({"web/a.yaml": config_map("a")})
    await limit(agent, "closed")
    await limit(agent, "open", sourceNamespaces=[team])
    await _apply(agent, "closed")

    await follow(agent, team)
    app = await _until(agent, conditions)
    assert "sourceNamespaces" in conditions(app)["InvalidSpecError"]
    await agent.api.patch(_path(agent), {"operation": {"sync": {}}})
    await _until(agent, lambda app: app["status"].get("operationState", {}).get("phase") == "Error")

    await _apply(agent, "default")
    await _until(agent, lambda app: "'default'" in conditions(app).get("InvalidSpecError", ""))
    assert await agent.get("configmaps/a") is None

    await follow(agent, f"{team[:-1]}?")  # by one watch of the whole cluster
    await _apply(agent, "open")
    await _until(agent, lambda app: app["status"].get("sync", {}).get("status") == "Synced")
    found = await agent.get("configmaps/a")
    assert found is not None
    tracked = found["metadata"]["annotations"]["argocd.argoproj.io/tracking-id"]
    assert tracked == f"{team}_web:/ConfigMap:{team}/a"

    await follow(agent, "")
    await eventually(lambda: agent.parts.applications.get(AppKey(team, "web")) is None, within=120)
    assert await agent.get("configmaps/a") is not None


async def follow(agent: AgentFixture, written: str) -> None:
    await agent.apply_settings("argocd-cmd-params-cm", {KEY: written})


async def _apply(agent: AgentFixture, project: str) -> None:
    source = {"repoURL": agent.repository.url, "path": "web", "targetRevision": "main"}
    body = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": "web", "namespace": agent.destination},
        "spec": {
            "project": project,
            "source": source,
            "destination": {"server": SERVER, "namespace": agent.destination},
            "syncPolicy": {"automated": {"prune": True}},
        },
    }
    await agent.api.apply(_path(agent), body)


def _path(agent: AgentFixture) -> str:
    return f"{APPLICATIONS.format(agent.destination)}/web"


async def _until(agent: AgentFixture, fact: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    seen: dict[str, Any] = {}

    async def holds() -> bool:
        nonlocal seen
        seen = await agent.api.get(_path(agent))
        return bool("status" in seen and fact(seen))

    await eventually(holds, within=120)
    return seen
