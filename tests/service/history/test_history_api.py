"""Timeline, ledger, instances, services and environments over HTTP, on a real PostgreSQL."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from urllib.parse import quote

import msgspec
import pytest
from sqlalchemy import insert, update

from service.history.recorded_facts import RecordedFact
from service.store.tables import applications, drifts, epochs, facts, instances, objects
from tests.service.api.api_fixture import ApiFixture
from tests.service.history.recorded_fact_samples import START, WEB, A, at, differs, row, synced


async def insert_facts(
    api: ApiFixture, agent: str, *recorded: RecordedFact, correlation: str = ""
) -> None:
    async with api.engine.begin() as connection:
        for one in recorded:
            values = msgspec.structs.asdict(row(one, correlation))
            await connection.execute(insert(facts).values(agent_id=agent, **values))


async def add(api: ApiFixture, table: Any, **values: Any) -> None:
    async with api.engine.begin() as connection:
        await connection.execute(insert(table).values(**values))


async def furnished(api: ApiFixture) -> tuple[str, str]:
    """An agent, and the id of its application `shop`."""
    agent = await api.agent("prod", environment="production")
    more = {"environment": "production", "region": "eu", "service": "web", "images": ["web:1"]}
    return agent, await api.application(agent, "shop", **more)


async def drifted(api: ApiFixture, agent: str, **more: Any) -> None:
    values = {
        "id": "d1",
        "agent_id": agent,
        "subject": "argocd/shop",
        "project": "default",
        "object": WEB,
        "fields": ["spec.replicas"],
        "actor": "kubectl",
        "began_at": api.clock() - timedelta(minutes=30),
    }
    await add(api, drifts, **{**values, **more})


def seconds(number: float) -> str:
    return quote((START + timedelta(seconds=number)).isoformat())


async def test_the_timeline_is_newest_first_filtered_and_in_pages(api: ApiFixture) -> None:
    agent, application = await furnished(api)
    who = await api.person("viewer")
    await insert_facts(
        api, agent, *(at(number, synced()) for number in range(5)), at(9, differs(WEB))
    )
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


async def test_the_fleet_as_it_was_at_a_moment(api: ApiFixture) -> None:
    agent, _ = await furnished(api)
    who = await api.person("viewer")
    await insert_facts(api, agent, at(0, synced()), at(60, differs(WEB)))
    before = (await who.get(f"/timeline/at?time={seconds(-1)}")).body["applications"]
    then = (await who.get(f"/timeline/at?time={seconds(30)}")).body["applications"]
    later = (await who.get(f"/timeline/at?time={seconds(61)}")).body["applications"]
    assert before == []
    assert [(it["subject"], it["sync"], it["revision"]) for it in then] == [
        ("argocd/shop", "Synced", A)
    ]
    assert [it["sync"] for it in later] == ["OutOfSync"]


async def test_the_ledger_tells_each_drift(api: ApiFixture) -> None:
    agent, _ = await furnished(api)
    who = await api.person("viewer")
    await drifted(api, agent)
    ended = {"id": "d2", "ended_at": api.clock(), "ended_how": "healed"}
    await drifted(api, agent, **ended)
    (lasting,) = (await who.get("/drifts?open=true")).body["items"]
    assert lasting["object"] == WEB
    assert lasting["fields"] == [{"path": "spec.replicas"}]
    assert (lasting["actor"], lasting["agentName"]) == ("kubectl", "prod")
    assert lasting["seconds"] == 1800.0
    (over,) = (await who.get("/drifts?open=false")).body["items"]
    assert over["endedHow"] == "healed"
    minutes = (await who.get("/drifts/minutes")).body["items"]
    assert sum(it["minutes"] for it in minutes) == pytest.approx(30.0)


async def test_the_fleet_counts_the_same_drift_minutes_as_the_ledger(api: ApiFixture) -> None:
    """Two objects of one application that drift at once are one minute of it, in both."""
    api.clock.now = api.clock.now.replace(hour=12)
    agent, _ = await furnished(api)
    await api.application(agent, "bank", environment="production", region="eu")
    begin = api.clock() - timedelta(minutes=40)
    await drifted(api, agent, id="a", began_at=begin, ended_at=begin + timedelta(minutes=20))
    await drifted(api, agent, id="b", object="/Service/shop/web", began_at=begin)
    await drifted(api, agent, id="c", subject="argocd/bank", began_at=begin)
    yesterday = api.clock() - timedelta(days=1)
    await drifted(api, agent, id="d", began_at=yesterday, ended_at=yesterday)
    who = await api.person("viewer")
    (cell,) = (await who.get("/fleet")).body["cells"]
    midnight = quote(api.clock().replace(hour=0, minute=0, second=0, microsecond=0).isoformat())
    found = (await who.get(f"/drifts/minutes?since={midnight}")).body["items"]
    assert sorted(it["minutes"] for it in found) == [40.0, 40.0]
    assert cell["driftMinutesToday"] == sum(it["minutes"] for it in found) == 80.0


NARROWED = (
    ("/timeline", "items"),
    ("/timeline/at?time={now}", "applications"),
    ("/drifts", "items"),
    ("/drifts/minutes", "items"),
    ("/instances", "items"),
    ("/services", "items"),
    ("/environments", "items"),
    ("/agents", "items"),
    ("/applications", "items"),
    ("/fleet", "cells"),
    ("/fleet", "needYou"),
)


@pytest.mark.parametrize(("path", "answer"), NARROWED)
async def test_environment_and_region_narrow_every_list(
    api: ApiFixture, path: str, answer: str
) -> None:
    api.clock.now = api.clock.now.replace(hour=12)  # no drift lasts over midnight: one row
    agent = await api.agent("prod", environment="production", region="eu")
    more = {"environment": "production", "region": "eu", "service": "web", "health": "Degraded"}
    application = await api.application(agent, "shop", **more)
    await runs(api, agent, application, "web-0")
    await insert_facts(api, agent, at(0, differs(WEB)))
    await drifted(api, agent)
    who = await api.person("viewer")
    path = path.format(now=quote((START + timedelta(seconds=60)).isoformat()))
    for query, count in {
        "environment=production,dev": 1,
        "environment=dev": 0,
        "region=eu": 1,
        "region=us": 0,
        "environment=production&region=us": 0,
    }.items():
        both = f"{path}{'&' if '?' in path else '?'}{query}"
        assert len((await who.get(both)).body[answer]) == count, both


async def runs(api: ApiFixture, agent: str, application: str, pod: str, **more: Any) -> None:
    values = {"uid": f"uid-{pod}", "namespace": "shop", "images": ["web:1"], "ready": True, **more}
    await add(api, instances, agent_id=agent, application_id=application, pod=pod, **values)


async def states(api: ApiFixture, agent: str, kind: str, status: dict[str, Any]) -> None:
    """What the agent's believed epoch says of the application `shop`."""
    key = {"agent_id": agent, "epoch": "e", "kind": kind, "subject": "argocd/shop"}
    await add(api, objects, **key, as_of=api.clock(), body={"kind": kind, "status": status})


async def test_instances_services_and_environments_are_counted(api: ApiFixture) -> None:
    agent, application = await furnished(api)
    who = await api.person("viewer")
    for number in range(3):
        await runs(api, agent, application, f"web-{number}", ready=number > 0)
    pods = (await who.get("/instances?service=web&environment=production")).body["items"]
    assert [(it["pod"], it["applicationName"]) for it in pods] == [
        ("web-0", "shop"),
        ("web-1", "shop"),
        ("web-2", "shop"),
    ]
    (service,) = (await who.get("/services")).body["items"]
    assert (service["name"], service["environment"]) == ("web", "production")
    assert (service["instances"], service["ready"], service["regions"]) == (3, 2, ["eu"])
    assert [it["id"] for it in service["of"]] == [application]
    (environment,) = (await who.get("/environments")).body["items"]
    assert (environment["name"], environment["instances"]) == ("production", 3)


async def test_a_rollout_shows_what_runs_of_each_image(api: ApiFixture) -> None:
    agent, application = await furnished(api)
    who = await api.person("viewer")
    await runs(api, agent, application, "old-1")
    await runs(api, agent, application, "old-2")
    await runs(api, agent, application, "new", images=["web:2", "side:1"], ready=False)
    (service,) = (await who.get("/services")).body["items"]
    found = {it["image"]: (it["instances"], it["ready"]) for it in service["images"]}
    assert found == {"web:1": (2, 2), "web:2": (1, 0), "side:1": (1, 0)}


async def test_the_commit_of_an_instance_is_the_one_that_was_synced(api: ApiFixture) -> None:
    """An application that is out of sync was compared with a newer one."""
    agent, application = await furnished(api)
    who = await api.person("viewer")
    await runs(api, agent, application, "web-0")
    async with api.engine.begin() as connection:
        await connection.execute(update(applications).values(revision="newer"))
    assert (await who.get("/instances")).body["items"][0]["revision"] == "newer"
    await add(api, epochs, agent_id=agent, epoch="e", state="active")
    history = [{"revision": "oldest"}, {"revision": "running"}]
    await states(api, agent, "Application", {"history": history})
    assert (await who.get("/instances")).body["items"][0]["revision"] == "running"
    (service,) = (await who.get("/services")).body["items"]
    assert service["revisions"] == ["running"]


@pytest.mark.parametrize(("recorded", "shown"), [(20, 20), ("x", 0), (None, 0)])
async def test_pods_beyond_what_an_agent_reports_are_counted(
    api: ApiFixture, recorded: object, shown: int
) -> None:
    agent, _ = await furnished(api)
    await add(api, epochs, agent_id=agent, epoch="e", state="active")
    await states(api, agent, "Instances", {"leftOut": recorded})
    (service,) = (await (await api.person("viewer")).get("/services")).body["items"]
    assert service["leftOut"] == shown


PATHS = (
    "/timeline",
    "/timeline/at?time=2026-11-22T00:00:00Z",
    "/drifts",
    "/instances",
    "/services",
)


@pytest.mark.parametrize("path", PATHS)
async def test_nobody_sees_the_history_of_what_they_may_not_see(api: ApiFixture, path: str) -> None:
    agent, application = await furnished(api)
    await insert_facts(api, agent, at(0, synced()))
    await drifted(api, agent)
    await add(
        api,
        instances,
        agent_id=agent,
        uid="u",
        application_id=application,
        namespace="shop",
        pod="web",
    )
    other = await api.put(
        "projects", account_id=api.account, organisation_id=api.organisation, name="other"
    )
    stranger = await api.make_account("elsewhere")
    people = [
        await api.person("viewer", project_id=other),
        await api.person("administrator", account=stranger),
    ]
    for who in people:
        body = (await who.get(path)).body
        assert body.get("items", body.get("applications")) == []
    assert (await (await api.person()).get(path)).status == 403
    mine = (await (await api.person("viewer", project_id=api.project)).get(path)).body
    assert len(mine.get("items", mine.get("applications"))) == 1


OUT_OF_RANGE = (
    "/timeline/at?time={}",
    "/timeline?since={}",
    "/drifts?until={}",
    "/drifts/minutes?until={}",
)


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
@pytest.mark.parametrize("path", OUT_OF_RANGE)
async def test_times_at_the_ends_of_the_calendar_are_answered(
    api: ApiFixture, path: str, time: str
) -> None:
    await furnished(api)
    who = await api.person("viewer")
    assert (await who.get(path.format(time))).status == 200
