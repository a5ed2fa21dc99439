"""A bulk request of the largest size, through a real service and a real agent."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import select

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

    async def phases() -> dict[str, int]:
        query = select(tasks.c.phase, tasks.c.code).where(tasks.c.id.in_(expected))
        async with linked_agent.running_service.service.dependencies.engine.connect() as connection:
            rows = (await connection.execute(query)).all()
        return Counter(f"{row.phase} {row.code}" for row in rows)

    async def succeeded() -> bool:
        counted = await phases()
        assert counted == {"succeeded ok": COUNT}, counted
        return True

    await eventually(succeeded, within=600, what="the end of every task as succeeded")
