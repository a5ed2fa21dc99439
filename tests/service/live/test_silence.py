"""An agent that falls silent is seen to, in an open page: nobody has to load it again."""

from __future__ import annotations

from datetime import timedelta

import pytest

from service.gateway.silence import tell_silence
from tests.service.api.world import World
from tests.service.live.world import Replica, subscribed

pytestmark = pytest.mark.flow


async def test_each_step_down_reaches_who_may_see_the_agent(world: World, one: Replica) -> None:
    agent = await world.agent("prod", status="connected")
    who, nobody = await world.person("viewer"), await world.person("")
    async with subscribed(one.url, who.token) as page, subscribed(one.url, nobody.token) as other:
        for minutes in (1, 3, 20):
            await tell_silence(world.engine, world.clock() + timedelta(minutes=minutes))
        told = await page.take(3)
        assert [it.name for it in told] == ["agent.changed"] * 3
        assert {it.data["agent"] for it in told} == {agent}
        assert [it.data["body"]["status"] for it in told] == ["stale", "disconnected", "lost"]
        await other.until_beat()
