"""Server-sent events on a real PostgreSQL: who gets what, in which order, and what was missed."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import aiohttp
import pytest
from sqlalchemy import delete, func, select, update

from service.live.event import View
from service.live.trim import trim
from service.store.changes import Change
from service.store.tables import api_tokens, bindings, changes
from tests.service.api.world import World
from tests.service.live.world import Replica, changed, subscribed, tell
from tests.support import eventually

pytestmark = pytest.mark.flow


async def test_a_change_reaches_subscribers_of_every_replica(
    world: World, one: Replica, other: Replica
) -> None:
    who = await world.person("viewer")
    async with subscribed(one.url, who.token) as here, subscribed(other.url, who.token) as there:
        await tell(world, changed("argocd/a"), changed("argocd/b"))
        for subscriber in (here, there):
            told = await subscriber.take(2)
            assert [it.data["subject"] for it in told] == ["argocd/a", "argocd/b"]


async def test_what_was_missed_is_replayed_by_the_last_id_and_nothing_comes_twice(
    world: World, one: Replica, other: Replica
) -> None:
    who = await world.person("viewer")
    async with subscribed(one.url, who.token) as subscriber:
        await tell(world, changed("argocd/0"))
        last = (await subscriber.next()).id
    await tell(world, *(changed(f"argocd/{number}") for number in range(1, 1200)))
    async with subscribed(other.url, who.token, last=last) as subscriber:
        await tell(world, changed("argocd/1200"))
        told = await subscriber.take(1200)
    assert [it.data["subject"] for it in told] == [f"argocd/{it}" for it in range(1, 1201)]


async def test_a_gap_is_said_where_the_past_is_not_kept(world: World, one: Replica) -> None:
    who = await world.person("viewer")
    await tell(world, *(changed(f"argocd/{number}") for number in range(3)))
    async with world.engine.begin() as connection:
        first = await connection.scalar(select(func.min(changes.c.id)))
        old = world.clock() - timedelta(days=2)
        await connection.execute(update(changes).where(changes.c.id <= first + 1).values(time=old))
    assert await trim(world.engine, world.clock()) == 2
    async with subscribed(one.url, who.token, last=first) as subscriber:
        told = await subscriber.take(2)
    assert [it.name for it in told] == ["gap", "application.changed"]
    assert told[0].data["after"] == first


async def test_the_newest_change_is_kept_so_that_a_quiet_account_has_no_gap(
    world: World, one: Replica
) -> None:
    who = await world.person("viewer")
    await tell(world, changed("argocd/a"))
    async with world.engine.connect() as connection:
        newest = await connection.scalar(select(func.max(changes.c.id)))
    assert await trim(world.engine, world.clock() + timedelta(days=9)) == 0
    async with subscribed(one.url, who.token, last=newest) as subscriber:
        await tell(world, changed("argocd/b"))
        assert (await subscriber.next()).data["subject"] == "argocd/b"


FILTERS = {
    "?types=drift": ["drift.began"],
    "?types=application.changed,drift.began": ["application.changed", "drift.began"],
    "?project=other": ["task.changed"],
    "?application=argocd/a": ["application.changed", "task.changed"],
    "?environment=live": ["application.changed", "drift.began"],
    "?environment=live&region=there": [],
    "?region=here&types=drift": ["drift.began"],
}


@pytest.mark.parametrize(("query", "names"), FILTERS.items(), ids=FILTERS)
async def test_filters_choose(world: World, one: Replica, query: str, names: list[str]) -> None:
    who = await world.person("viewer")
    agent = await world.agent("prod", environment="live", region="here")
    async with subscribed(one.url, who.token, query) as subscriber:
        await tell(
            world,
            changed("argocd/a", agent=agent),
            Change(type="drift.began", subject="argocd/b", project="default", agent_id=agent),
            Change(
                type="task.changed", subject="t1", project="other", body={"subject": "argocd/a"}
            ),
        )
        assert [it.name for it in await subscriber.take(len(names))] == names


async def test_nobody_gets_what_they_may_not_see(world: World, one: Replica) -> None:
    agent = await world.agent("prod")
    group = await world.put(
        "resource_groups", account_id=world.account, name="team", labels={"team": "a"}
    )
    await world.application(agent, "mine", labels={"team": "a"})
    await world.application(agent, "theirs", labels={"team": "b"})
    other = await world.put(
        "projects", account_id=world.account, organisation_id=world.organisation, name="shop"
    )
    people = {
        "labels": await world.person("viewer", resource_group_id=group),
        "project": await world.person("viewer", project_id=other),
        "nothing": await world.person(),
    }
    told = [
        changed("argocd/theirs", agent=agent),
        changed("argocd/mine", agent=agent),
        changed("argocd/shop", "shop", agent=agent),
        Change(type="audit.recorded", subject="x"),
        Change(type="nobody.knows", subject="x"),
    ]
    expected = {"labels": ["argocd/mine"], "project": ["argocd/shop"], "nothing": []}
    for name, person in people.items():
        async with subscribed(one.url, person.token) as subscriber:
            await tell(world, *told)
            seen = await subscriber.take(len(expected[name]))
            assert [it.data["subject"] for it in seen] == expected[name]
            waiting = [
                ready.event.subject
                for mine in one.parts.hub._listeners.values()
                for listener in mine
                for ready in listener.waiting
            ]
            assert waiting == []


async def test_another_accounts_changes_are_not_told(world: World, one: Replica) -> None:
    elsewhere = await world.make_account("elsewhere")
    stranger = await world.person("administrator", account=elsewhere)
    async with subscribed(one.url, stranger.token) as subscriber:
        await tell(world, changed("argocd/a"))
        world.account = elsewhere
        await tell(world, changed("argocd/b"))
        assert (await subscriber.next()).data["subject"] == "argocd/b"


async def test_a_slow_subscriber_is_cut_and_resumes_while_others_go_on(
    world: World, one: Replica
) -> None:
    who = await world.person("viewer")
    count = 6000
    big = "x" * 4000
    async with subscribed(one.url, who.token) as fast, subscribed(one.url, who.token) as slow:
        reading = asyncio.create_task(_read(fast, count))
        for begin in range(0, count, 500):
            batch = (changed(f"argocd/{it}", text=big) for it in range(begin, begin + 500))
            await tell(world, *batch)
        assert await reading == [f"argocd/{it}" for it in range(count)]
        seen, end = await _until_cut(slow)
    assert end["reason"].startswith("slow")
    assert len(seen) < count
    async with subscribed(one.url, who.token, last=slow.last) as again:
        rest = [it.data["subject"] for it in await again.take(count - len(seen))]
    assert seen + rest == [f"argocd/{it}" for it in range(count)]


async def test_an_id_that_is_none_is_refused(world: World, one: Replica) -> None:
    who = await world.person("viewer")
    headers = {"Authorization": f"Bearer {who.token}", "Last-Event-ID": "x; drop table"}
    async with (
        aiohttp.ClientSession() as http,
        http.get(f"{one.url}/events", headers=headers) as response,
    ):
        assert response.status == 422
        assert (await response.json())["field"] == "Last-Event-ID"


async def _read(subscriber: object, count: int) -> list[str]:
    return [it.data["subject"] for it in await subscriber.take(count)]  # type: ignore[attr-defined]


async def _until_cut(subscriber: object) -> tuple[list[str], dict[str, str]]:
    seen: list[str] = []
    while True:
        told = await subscriber.next()  # type: ignore[attr-defined]
        if told.name == "end":
            return seen, told.data
        seen.append(told.data["subject"])


async def test_a_stream_ends_when_its_login_does(world: World, one: Replica) -> None:
    who = await world.person("viewer")
    async with subscribed(one.url, who.token) as subscriber:
        async with world.engine.begin() as connection:
            revoked = update(api_tokens).where(api_tokens.c.principal_id == who.id)
            await connection.execute(revoked.values(revoked_at=world.clock()))
        end = await subscriber.next()
    assert (end.name, end.data["reason"]) == ("end", "the login has ended")


async def test_a_permission_that_was_taken_away_ends_the_stream(world: World, one: Replica) -> None:
    who = await world.person("viewer")
    async with subscribed(one.url, who.token) as subscriber:
        async with world.engine.begin() as connection:
            await connection.execute(delete(bindings).where(bindings.c.principal_id == who.id))
        end = await subscriber.next()
    assert (end.name, end.data["reason"]) == ("end", "you no longer have permission to read this")


async def test_a_permission_that_was_given_is_used_by_an_open_stream(
    world: World, one: Replica
) -> None:
    who = await world.person()
    async with subscribed(one.url, who.token) as subscriber:
        role = world.roles[world.account + "viewer"]
        await world.put("bindings", account_id=world.account, principal_id=who.id, role_id=role)
        await eventually(lambda: _views(one)[0].bindings)
        await tell(world, changed("argocd/a"))
        assert (await subscriber.next()).data["subject"] == "argocd/a"


def _views(replica: Replica) -> list[View]:
    hub = replica.parts.hub
    return [listener.view for mine in hub._listeners.values() for listener in mine]
