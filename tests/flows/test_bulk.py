"""A bulk request of the largest size, through a real service and a real agent."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from service.store.tables import applications, tasks
from tests.flows.agent_fixture import AgentFixture, config_map
from tests.flows.fake_service_link import allow
from tests.flows.linked_agent import LinkedAgent, open_linked_agent
from tests.support import eventually

pytestmark = pytest.mark.timeout(900)

COUNT = 500


@pytest.fixture
async def linked_agent(
    stopped_agent: AgentFixture, database_url: str, tmp_path: Path
) -> AsyncIterator[LinkedAgent]:
    async with open_linked_agent(stopped_agent, database_url, tmp_path) as linked_agent:
        await allow(linked_agent.agent, maxPerMinute="10000", maxReadsPerMinute="10000")
        yield linked_agent


async def test_every_task_of_a_bulk_request_of_500_ends(linked_agent: LinkedAgent) -> None:
    agent, admin = linked_agent.agent, linked_agent.admin
    agent.commit({"web/web.yaml": config_map("web")})
    for number in range(COUNT):
        await agent.apply_app(f"web-{number}", "web")

    async def listed() -> bool:
        return await linked_agent.running_service.count(applications) == COUNT

    await eventually(listed, within=300, what="all applications at the service")
    answer = await admin.call("POST", "/applications/bulk/refresh", {"filter": {}})
    expected = {task["id"] for task in answer["tasks"]}
    assert len(expected) == COUNT
    succeeded = (tasks.c.id.in_(expected), tasks.c.phase == "succeeded")

    async def ended() -> bool:
        return await linked_agent.running_service.count(tasks, *succeeded) == COUNT

    await eventually(ended, within=300, what="the end of every task as succeeded")
