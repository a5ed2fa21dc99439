"""An AppProject made, read, changed and deleted at the service, by its agent in its cluster."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from playground.kubeapi import KubeApiError
from service.store.tables import agents
from tests.flows.agent_fixture import AgentFixture, config_map
from tests.flows.linked_agent import LinkedAgent, open_linked_agent
from tests.support import eventually

SPEC = {"description": "the shop's", "sourceRepos": ["*"], "destinations": []}


@pytest.fixture
async def linked_agent(
    stopped_agent: AgentFixture, database_url: str, tmp_path: Path
) -> AsyncIterator[LinkedAgent]:
    async with open_linked_agent(stopped_agent, database_url, tmp_path) as linked_agent:
        yield linked_agent


def path(agent: AgentFixture, name: str = "shop") -> str:
    return f"/apis/argoproj.io/v1alpha1/namespaces/{agent.namespace}/appprojects/{name}"


def manifest(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "shop"}, "spec": {**SPEC, **spec}}


async def create(linked_agent: LinkedAgent) -> dict[str, Any]:
    """Its row at the service."""
    agent = (await linked_agent.running_service.rows(agents))[0].id
    made = await linked_agent.admin.order(
        "POST", "/appprojects", {"agent": agent, "manifest": manifest()}
    )
    assert made["phase"] == "succeeded", made
    return await shown(linked_agent, "the shop's")


async def shown(linked_agent: LinkedAgent, description: str) -> dict[str, Any]:
    async def there() -> Any:
        found = await linked_agent.admin.items("/appprojects?search=shop")
        return [it for it in found if it["description"] == description]

    found: list[dict[str, Any]] = await eventually(there, what=f"project with {description!r}")
    one: dict[str, Any] = await linked_agent.admin.call("GET", f"/appprojects/{found[0]['id']}")
    return one


async def test_a_project_is_made_changed_and_deleted_and_what_was_not_shown_stays(
    linked_agent: LinkedAgent,
) -> None:
    agent, admin = linked_agent.agent, linked_agent.admin
    project = await create(linked_agent)
    hidden = {"permitOnlyProjectScopedClusters": True}
    await agent.api.patch(path(agent), {"spec": {**hidden, "description": "by hand"}})
    project = await shown(linked_agent, "by hand")
    one = f"/appprojects/{project['id']}"
    body = {"manifest": manifest(**{**project["spec"], "description": "changed"})}
    put = await admin.order("PUT", one, body, {"If-Match": project["version"]})
    assert put["phase"] == "succeeded", put
    live = await agent.api.get(path(agent))
    assert live["spec"] == {**SPEC, **hidden, "description": "changed"}
    await shown(linked_agent, "changed")
    gone = await admin.order("DELETE", one)
    assert gone["phase"] == "succeeded", gone
    with pytest.raises(KubeApiError):
        await agent.api.get(path(agent))
    await eventually(lambda: is_gone(linked_agent), what="no project shop")


async def is_gone(linked_agent: LinkedAgent) -> bool:
    return await linked_agent.admin.items("/appprojects?search=shop") == []


async def test_a_project_that_exists_is_not_made_again(linked_agent: LinkedAgent) -> None:
    await create(linked_agent)
    agent = (await linked_agent.running_service.rows(agents))[0].id
    body = {"agent": agent, "manifest": manifest(description="another")}
    again = await linked_agent.admin.order("POST", "/appprojects", body)
    assert (again["phase"], again["code"]) == ("failed", "conflict")
    assert (await linked_agent.agent.api.get(path(linked_agent.agent)))["spec"] == SPEC


async def test_a_project_with_applications_and_the_default_one_are_not_deleted(
    linked_agent: LinkedAgent,
) -> None:
    agent, admin = linked_agent.agent, linked_agent.admin
    project = await create(linked_agent)
    agent.commit({"web/config.yaml": config_map("web", a="1")})
    await agent.apply_app("web", "web", project="shop")
    await eventually(lambda: is_used(linked_agent), what="an application of the project")
    refused = await admin.order("DELETE", f"/appprojects/{project['id']}")
    assert (refused["phase"], refused["code"]) == ("failed", "conflict")
    assert f"{agent.namespace}/web" in refused["message"]
    await agent.api.create(
        path(agent).rpartition("/")[0],
        {
            "apiVersion": "argoproj.io/v1alpha1",
            "kind": "AppProject",
            "metadata": {"name": "default"},
            "spec": SPEC,
        },
    )
    (default,) = await eventually(
        lambda: named(linked_agent, "default"), what="the project default"
    )
    refused = await admin.order("DELETE", f"/appprojects/{default['id']}")
    assert (refused["phase"], refused["code"]) == ("failed", "not_allowed")


async def is_used(linked_agent: LinkedAgent) -> bool:
    found = await linked_agent.admin.items("/appprojects?search=shop")
    return bool(found and found[0]["applications"] == 1)


async def named(linked_agent: LinkedAgent, name: str) -> list[dict[str, Any]]:
    return [it for it in await linked_agent.admin.items("/appprojects") if it["name"] == name]
