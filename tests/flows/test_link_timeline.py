"""The timeline at the service, of facts as a real agent tells them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bus.events import ObjectChanged
from tests.flows.agent_fixture import AgentFixture, config_map
from tests.flows.evidence import a_fact
from tests.flows.linked_agent import LinkedAgent, open_linked_agent
from tests.support import eventually

HOPS = {"manifests.rendered.v1", "app.compared.v1", "operation.finished.v1", "health.assessed.v1"}


@pytest.fixture
async def linked_agent(
    stopped_agent: AgentFixture, database_url: str, tmp_path: Path
) -> AsyncIterator[LinkedAgent]:
    async with open_linked_agent(stopped_agent, database_url, tmp_path) as linked_agent:
        yield linked_agent


async def types(linked_agent: LinkedAgent, query: str = "") -> set[str]:
    return {it["type"] for it in await linked_agent.admin.items(f"/timeline?limit=500{query}")}


async def test_every_type_that_is_told_is_found_by_its_name(linked_agent: LinkedAgent) -> None:
    agent, admin = linked_agent.agent, linked_agent.admin
    agent.commit({"web/config.yaml": config_map("web", a="1")})
    await agent.apply_app("web", "web", syncPolicy={"automated": {}})
    await agent.until_synced("web")

    async def is_recorded() -> bool:
        return await types(linked_agent) >= HOPS

    await eventually(is_recorded, what="the facts of a delivery")
    for one in await types(linked_agent):
        assert await types(linked_agent, f"&type={one}") == {one}
        assert await types(linked_agent, f"&type=fact.{one}") == {one}
    both = "app.compared.v1,operation.finished.v1"
    assert await types(linked_agent, f"&type={both}") == set(both.split(","))
    assert await types(linked_agent, "&type=nothing.of.the.kind.v1") == set()
    (app,) = await admin.items("/applications")
    mine = await admin.items(f"/applications/{app['id']}/timeline?type=operation.finished.v1")
    assert {it["subject"] for it in mine} == {f"{agent.namespace}/web"}


async def test_a_push_is_told_from_its_commit_to_the_end(linked_agent: LinkedAgent) -> None:
    agent, admin = linked_agent.agent, linked_agent.admin
    agent.commit({"web/config.yaml": config_map("web", a="1")})
    await agent.apply_app("web", "web", syncPolicy={"automated": {}})
    await agent.until_synced("web")
    (app,) = await eventually(lambda: admin.items("/applications"), what="the application")
    await a_fact(agent.parts.bus, ObjectChanged, object=f"/ConfigMap/{agent.destination}/web")
    commit = agent.commit({"web/config.yaml": config_map("web", a="2")})
    await admin.order("POST", f"/applications/{app['id']}/refresh", {})

    async def ended() -> bool:
        pushes = await admin.items(f"/applications/{app['id']}/pushes")
        return any(it["commit"]["id"] == commit and _is_whole(it["hops"]) for it in pushes)

    await eventually(ended, what="the way of the push")
    # The fact of the object was published between the two syncs, and the agent kept it.
    assert await types(linked_agent, "&type=object.changed.v1") == set()


def _is_whole(hops: list[dict[str, object]]) -> bool:
    expected = {"revision.resolved.v1", "manifests.rendered.v1", "operation.finished.v1"}
    return expected <= {str(hop["name"]) for hop in hops}
