"""A revoked agent, the real one on the real link: cut, told why, and quiet until it is enrolled."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, MutableMapping
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from service.gateway.link_state import POLICY
from service.store.tables import agent_keys, agents
from tests.flows.agent_fixture import AgentFixture
from tests.service.service_fixture import RunningService, open_service, settings
from tests.support import eventually


@pytest.fixture
async def services(database_url: str) -> AsyncIterator[tuple[RunningService, RunningService]]:
    """Two replicas on one database: the first holds the link."""
    async with (
        open_service(settings(database_url)) as first,
        open_service(settings(database_url)) as second,
    ):
        yield RunningService(first), RunningService(second)


async def test_a_revoked_agent_is_cut_says_why_and_does_not_try_again(
    stopped_agent: AgentFixture, services: tuple[RunningService, RunningService], tmp_path: Path
) -> None:
    running_service, elsewhere = services
    token = tmp_path / "token"
    agent_id = await running_service.agent()
    token.write_text(await running_service.token(agent_id))
    link = stopped_agent.settings.link.model_copy(
        update={"url": running_service.service.url, "token_file": token}
    )
    stopped_agent.settings = stopped_agent.settings.model_copy(update={"link": link})

    async def is_linked() -> bool:
        return any(row.connected for row in await running_service.rows(agents))

    with capture_logs() as logged:
        async with stopped_agent.running():
            await eventually(is_linked)
            ordered = time.monotonic()
            assert (await elsewhere.call("POST", f"/agents/{agent_id}/revoke"))[0] == 200
            closed = await eventually(lambda: found(logged, "link closed"))
            end = await eventually(lambda: found(logged, "no link to the service"))
            took = time.monotonic() - ordered
            print(f"revocation, order to the agent's log: {took * 1000:.0f} ms")
            assert (closed["code"], closed["reason"]) == (POLICY, "the agent was revoked")
            assert "revoked" in end["reason"]
            assert end["retry_in_seconds"] >= 3600
            token.write_text(await running_service.token(agent_id))
            await eventually(is_linked)
    assert len(await running_service.rows(agent_keys)) == 2


def found(logged: list[MutableMapping[str, Any]], event: str) -> MutableMapping[str, Any]:
    """Empty: nobody said so yet."""
    return next((line for line in logged if line["event"] == event), {})
