"""A revoked agent, the real one on the real link: cut, told why, and quiet until it is enrolled."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, MutableMapping
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from service.gateway.link import POLICY
from service.store.tables import agent_keys, agents
from tests.flows.house import House
from tests.service.world import World, open_service, settings
from tests.support import eventually

pytestmark = pytest.mark.flow


@pytest.fixture
async def worlds(database_url: str) -> AsyncIterator[tuple[World, World]]:
    """Two replicas on one database: the first holds the link."""
    async with (
        open_service(settings(database_url)) as first,
        open_service(settings(database_url)) as second,
    ):
        yield World(first), World(second)


async def test_a_revoked_agent_is_cut_says_why_and_does_not_try_again(
    quiet_house: House, worlds: tuple[World, World], tmp_path: Path
) -> None:
    world, elsewhere = worlds
    token = tmp_path / "token"
    agent_id = await world.agent()
    token.write_text(await world.token(agent_id))
    link = quiet_house.settings.link.model_copy(
        update={"url": world.service.url, "token_file": token}
    )
    quiet_house.settings = quiet_house.settings.model_copy(update={"link": link})

    async def is_linked() -> bool:
        return any(row.connected for row in await world.rows(agents))

    with capture_logs() as said:
        async with quiet_house.running():
            await eventually(is_linked)
            ordered = time.monotonic()
            assert (await elsewhere.call("POST", f"/agents/{agent_id}/revoke"))[0] == 200
            closed = await eventually(lambda: found(said, "link closed"))
            given_up = await eventually(lambda: found(said, "no link to the service"))
            took = time.monotonic() - ordered
            print(f"revocation, order to the agent's log: {took * 1000:.0f} ms")
            assert (closed["code"], closed["reason"]) == (POLICY, "the agent was revoked")
            assert "revoked" in given_up["reason"]
            assert given_up["again_in"] >= 3600
            token.write_text(await world.token(agent_id))
            await eventually(is_linked)
    assert len(await world.rows(agent_keys)) == 2


def found(said: list[MutableMapping[str, Any]], event: str) -> MutableMapping[str, Any]:
    """Empty: nobody said so yet."""
    return next((line for line in said if line["event"] == event), {})
