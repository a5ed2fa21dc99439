"""Timeline, ledger, instances, services and environments over HTTP, on a real PostgreSQL."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from urllib.parse import quote

import msgspec
import pytest
from sqlalchemy import insert

from service.history.said import Said
from service.store.tables import drifts, facts, instances
from tests.service.api.world import World
from tests.service.history.said import START, WEB, A, at, differs, row, synced

pytestmark = pytest.mark.flow


async def told(world: World, agent: str, *said: Said, correlation: str = "") -> None:
    async with world.engine.begin() as connection:
        for one in said:
            values = msgspec.structs.asdict(row(one, correlation))
            await connection.execute(insert(facts).values(agent_id=agent, **values))


async def add(world: World, table: Any, **values: Any) -> None:
    async with world.engine.begin() as connection:
        await connection.execute(insert(table).values(**values))


async def furnished(world: World) -> tuple[str, str]:
    """An agent, and the id of its application `shop`."""
    agent = await world.agent("prod", environment="production")
    more = {"environment": "production", "region": "eu", "service": "web", "images": ["web:1"]}
    return agent, await world.application(agent, "shop", **more)


async def drifted(world: World, agent: str, **more: Any) -> None:
    values = {
        "id": "d1",
        "agent_id": agent,
        "subject": "argocd/shop",
        "project": "default",
        "object": WEB,
        "fields": ["spec.replicas"],
        "actor": "kubectl",
        "began_at": world.clock() - timedelta(minutes=30),
    }
    await add(world, drifts, **{**values, **more})


def seconds(number: float) -> str:
    return quote((START + timedelta(seconds=number)).isoformat())


async def test_the_timeline_is_newest_first_filtered_and_in_pages(world: World) -> None:
    agent, application = await furnished(world)
    who = await world.person("viewer")
    await told(world, agent, *(at(number, synced()) for number in range(5)), at(9, differs(WEB)))
    first = (await who.get("/timeline?limit=4&type=app.compared.v1")).body
    second = (await who.get(f"/timeline?limit=4&type=app.compared.v1&cursor={first['next']}")).body
    times = [it["time"] for it in first["items"] + second["items"]]
    assert len(times) == 6
    assert times == sorted(times, reverse=True)
    some = await who.get(f"/timeline?since={seconds(2)}&until={seconds(4)}&environment=production")
    assert len(some.body["items"]) == 2
    assert (await who.get("/timeline?type=health.assessed.v1")).body["items"] == []
    mine = await who.get(f"/applications/{application}/timeline")
    assert len(mine.body["items"]) == 6


async def test_the_fleet_as_it_was_at_a_moment(world: World) -> None:
    agent, _ = await furnished(world)
    who = await world.person("viewer")
    await told(world, agent, at(0, synced()), at(60, differs(WEB)))
    before = (await who.get(f"/timeline/at?time={seconds(-1)}")).body["applications"]
    then = (await who.get(f"/timeline/at?time={seconds(30)}")).body["applications"]
    later = (await who.get(f"/timeline/at?time={seconds(61)}")).body["applications"]
    assert before == []
    assert [(it["subject"], it["sync"], it["revision"]) for it in then] == [
        ("argocd/shop", "Synced", A)
    ]
    assert [it["sync"] for it in later] == ["OutOfSync"]


async def test_the_ledger_tells_each_drift(world: World) -> None:
    agent, _ = await furnished(world)
    who = await world.person("viewer")
    await drifted(world, agent)
    ended = {"id": "d2", "ended_at": world.clock(), "ended_how": "healed"}
    await drifted(world, agent, **ended)
    (lasting,) = (await who.get("/drifts?open=true")).body["items"]
    assert lasting["object"] == WEB
    assert lasting["fields"] == [{"path": "spec.replicas"}]
    assert (lasting["actor"], lasting["agentName"]) == ("kubectl", "prod")
    assert lasting["seconds"] == 1800.0
    (over,) = (await who.get("/drifts?open=false")).body["items"]
    assert over["endedHow"] == "healed"
    minutes = (await who.get("/drifts/minutes")).body["items"]
    assert sum(it["minutes"] for it in minutes) == pytest.approx(30.0)


async def test_instances_services_and_environments_are_counted(world: World) -> None:
    agent, application = await furnished(world)
    who = await world.person("viewer")
    for number in range(3):
        await add(
            world,
            instances,
            agent_id=agent,
            uid=f"u{number}",
            application_id=application,
            namespace="shop",
            pod=f"web-{number}",
            images=["web:1"],
            ready=number > 0,
        )
    pods = (await who.get("/instances?service=web&environment=production")).body["items"]
    assert [it["pod"] for it in pods] == ["web-0", "web-1", "web-2"]
    (service,) = (await who.get("/services")).body["items"]
    assert (service["name"], service["instances"], service["ready"]) == ("web", 3, 2)
    assert service["images"] == ["web:1"]
    (environment,) = (await who.get("/environments")).body["items"]
    assert (environment["name"], environment["instances"]) == ("production", 3)
    assert (await who.get("/instances?environment=dev")).body["items"] == []


PATHS = (
    "/timeline",
    "/timeline/at?time=2026-11-22T00:00:00Z",
    "/drifts",
    "/instances",
    "/services",
)


@pytest.mark.parametrize("path", PATHS)
async def test_nobody_sees_the_history_of_what_they_may_not_see(world: World, path: str) -> None:
    agent, application = await furnished(world)
    await told(world, agent, at(0, synced()))
    await drifted(world, agent)
    await add(
        world,
        instances,
        agent_id=agent,
        uid="u",
        application_id=application,
        namespace="shop",
        pod="web",
    )
    other = await world.put(
        "projects", account_id=world.account, organisation_id=world.organisation, name="other"
    )
    stranger = await world.make_account("elsewhere")
    people = [
        await world.person("viewer", project_id=other),
        await world.person("administrator", account=stranger),
    ]
    for who in people:
        body = (await who.get(path)).body
        assert body.get("items", body.get("applications")) == []
    assert (await (await world.person()).get(path)).status == 403
    mine = (await (await world.person("viewer", project_id=world.project)).get(path)).body
    assert len(mine.get("items", mine.get("applications"))) == 1


FAR = ("/timeline/at?time={}", "/timeline?since={}", "/drifts?until={}", "/drifts/minutes?until={}")


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
@pytest.mark.parametrize("path", FAR)
async def test_times_at_the_ends_of_the_calendar_are_answered(
    world: World, path: str, time: str
) -> None:
    await furnished(world)
    who = await world.person("viewer")
    assert (await who.get(path.format(time))).status == 200
