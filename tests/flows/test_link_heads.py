"""A real agent keeps the heads of a real service's audit, in its own cluster."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from service.store.tables import audit_anchors
from tests.flows.agent_fixture import AgentFixture
from tests.flows.linked_agent import LinkedAgent, open_linked_agent
from tests.support import eventually


@pytest.fixture
async def linked_agent(
    stopped_agent: AgentFixture, database_url: str, tmp_path: Path
) -> AsyncIterator[LinkedAgent]:
    async with open_linked_agent(stopped_agent, database_url, tmp_path) as found:
        yield found


async def test_an_audit_that_was_cut_is_contradicted_by_the_agents_cluster(
    linked_agent: LinkedAgent, database_url: str
) -> None:
    async def is_anchored() -> bool:
        return bool(await linked_agent.running_service.rows(audit_anchors))

    await eventually(is_anchored)
    _, before = await linked_agent.running_service.call("GET", "/audit/verify")
    assert (before["ok"], before["anchors"] > 0) == (True, True), before
    owner = await asyncpg.connect(database_url, timeout=180)
    await owner.execute("ALTER TABLE audit DISABLE TRIGGER audit_append_only")
    await owner.execute("DELETE FROM audit")
    await owner.execute("DELETE FROM audit_anchors")
    await owner.execute("ALTER TABLE audit ENABLE TRIGGER audit_append_only")
    await owner.close()

    async def is_sent_again() -> bool:
        return bool(await linked_agent.running_service.rows(audit_anchors))

    await linked_agent.running_service.call(
        "GET", "/audit/export"
    )  # a record, so that there is a head to tell
    await eventually(is_sent_again)
    _, after = await linked_agent.running_service.call("GET", "/audit/verify")
    assert not after["ok"]
    assert "agent" in after["reason"]
