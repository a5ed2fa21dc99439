"""An agent that falls silent is seen to, in an open page: nobody has to load it again."""

from __future__ import annotations

from datetime import timedelta

from service.gateway.agent_status import report_liveness
from tests.service.api.api_fixture import ApiFixture
from tests.service.live.replica_fixture import ServiceReplica, subscribed


async def test_each_fall_of_a_status_reaches_those_who_may_see_the_agent(
    api: ApiFixture, one: ServiceReplica
) -> None:
    agent = await api.agent("prod", status="connected")
    who, nobody = await api.person("viewer"), await api.person("")
    async with subscribed(one.url, who.token) as page, subscribed(one.url, nobody.token) as other:
        for minutes in (1, 3, 20):
            await report_liveness(api.engine, api.clock() + timedelta(minutes=minutes))
        events = await page.take(3)
        assert [it.name for it in events] == ["agent.changed"] * 3
        assert {it.data["agent"] for it in events} == {agent}
        assert [it.data["body"]["status"] for it in events] == ["stale", "disconnected", "lost"]
        await other.until_beat()
