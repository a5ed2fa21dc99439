"""Server-sent events on a real PostgreSQL: who gets what, in which order, and what was missed."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import aiohttp
import pytest
from sqlalchemy import delete, func, select, update

from service.live.change_event import EventVisibility
from service.live.change_feed import trim
from service.store.changes import FeedChange
from service.store.tables import api_tokens, bindings, changes
from tests.service.api.api_fixture import ApiFixture
from tests.service.live.replica_fixture import ServiceReplica, changed, note_changes, subscribed
from tests.support import eventually


async def test_a_change_reaches_subscribers_of_every_replica(
    api: ApiFixture, one: ServiceReplica, other: ServiceReplica
) -> None:
    who = await api.person("viewer")
    async with subscribed(one.url, who.token) as here, subscribed(other.url, who.token) as there:
        await note_changes(api, changed("argocd/a"), changed("argocd/b"))
        for subscriber in (here, there):
            events = await subscriber.take(2)
            assert [it.data["subject"] for it in events] == ["argocd/a", "argocd/b"]


async def test_what_was_missed_is_replayed_by_the_last_id_and_nothing_comes_twice(
    api: ApiFixture, one: ServiceReplica, other: ServiceReplica
) -> None:
    who = await api.person("viewer")
    async with subscribed(one.url, who.token) as subscriber:
        await note_changes(api, changed("argocd/0"))
        last = (await subscriber.next()).id
    await note_changes(api, *(changed(f"argocd/{number}") for number in range(1, 1200)))
    async with subscribed(other.url, who.token, last=last) as subscriber:
        await note_changes(api, changed("argocd/1200"))
        events = await subscriber.take(1200)
    assert [it.data["subject"] for it in events] == [f"argocd/{it}" for it in range(1, 1201)]


async def test_a_gap_is_announced_where_the_feed_was_trimmed(
    api: ApiFixture, one: ServiceReplica
) -> None:
    who = await api.person("viewer")
    await note_changes(api, *(changed(f"argocd/{number}") for number in range(3)))
    async with api.engine.begin() as connection:
        first = await connection.scalar(select(func.min(changes.c.id)))
        old = api.clock() - timedelta(days=2)
        await connection.execute(update(changes).where(changes.c.id <= first + 1).values(time=old))
    assert await trim(api.engine, api.clock()) == 2
    async with subscribed(one.url, who.token, last=first) as subscriber:
        events = await subscriber.take(2)
    assert [it.name for it in events] == ["gap", "application.changed"]
    assert events[0].data["after"] == first


async def test_the_newest_change_is_kept_so_that_a_quiet_account_has_no_gap(
    api: ApiFixture, one: ServiceReplica
) -> None:
    who = await api.person("viewer")
    await note_changes(api, changed("argocd/a"))
    async with api.engine.connect() as connection:
        newest = await connection.scalar(select(func.max(changes.c.id)))
    assert await trim(api.engine, api.clock() + timedelta(days=9)) == 0
    async with subscribed(one.url, who.token, last=newest) as subscriber:
        await note_changes(api, changed("argocd/b"))
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
async def test_a_stream_sends_the_events_that_its_filters_match(
    api: ApiFixture, one: ServiceReplica, query: str, names: list[str]
) -> None:
    who = await api.person("viewer")
    agent = await api.agent("prod", environment="live", region="here")
    async with subscribed(one.url, who.token, query) as subscriber:
        await note_changes(
            api,
            changed("argocd/a", agent=agent),
            FeedChange(type="drift.began", subject="argocd/b", project="default", agent_id=agent),
            FeedChange(
                type="task.changed", subject="t1", project="other", body={"subject": "argocd/a"}
            ),
        )
        assert [it.name for it in await subscriber.take(len(names))] == names


async def test_nobody_gets_what_they_may_not_see(api: ApiFixture, one: ServiceReplica) -> None:
    agent = await api.agent("prod")
    group = await api.put(
        "resource_groups", account_id=api.account, name="team", labels={"team": "a"}
    )
    await api.application(agent, "mine", labels={"team": "a"})
    await api.application(agent, "theirs", labels={"team": "b"})
    other = await api.put(
        "projects", account_id=api.account, organisation_id=api.organisation, name="shop"
    )
    people = {
        "labels": await api.person("viewer", resource_group_id=group),
        "project": await api.person("viewer", project_id=other),
        "nothing": await api.person(),
    }
    events = [
        changed("argocd/theirs", agent=agent),
        changed("argocd/mine", agent=agent),
        changed("argocd/shop", "shop", agent=agent),
        FeedChange(type="audit.recorded", subject="x"),
        FeedChange(type="nobody.knows", subject="x"),
    ]
    expected = {"labels": ["argocd/mine"], "project": ["argocd/shop"], "nothing": []}
    for name, person in people.items():
        await eventually(lambda: not any(one.dependencies.hub._listeners.values()))
        async with subscribed(one.url, person.token) as subscriber:
            await note_changes(api, *events)
            seen = await subscriber.take(len(expected[name]))
            assert [it.data["subject"] for it in seen] == expected[name]
            waiting = [
                ready.event.subject
                for mine in one.dependencies.hub._listeners.values()
                for listener in mine
                for ready in listener.waiting
            ]
            assert waiting == []


async def test_changes_of_another_account_are_not_sent(
    api: ApiFixture, one: ServiceReplica
) -> None:
    elsewhere = await api.make_account("elsewhere")
    stranger = await api.person("administrator", account=elsewhere)
    async with subscribed(one.url, stranger.token) as subscriber:
        await note_changes(api, changed("argocd/a"))
        api.account = elsewhere
        await note_changes(api, changed("argocd/b"))
        assert (await subscriber.next()).data["subject"] == "argocd/b"


async def test_a_slow_subscriber_is_cut_and_resumes_while_others_go_on(
    api: ApiFixture, one: ServiceReplica
) -> None:
    who = await api.person("viewer")
    count = 6000
    big = "x" * 4000
    async with subscribed(one.url, who.token) as fast, subscribed(one.url, who.token) as slow:
        reading = asyncio.create_task(_read(fast, count))
        for begin in range(0, count, 500):
            batch = (changed(f"argocd/{it}", text=big) for it in range(begin, begin + 500))
            await note_changes(api, *batch)
        assert await reading == [f"argocd/{it}" for it in range(count)]
        seen, end = await _until_cut(slow)
    assert end["reason"].startswith("slow")
    assert len(seen) < count
    async with subscribed(one.url, who.token, last=slow.last) as again:
        rest = [it.data["subject"] for it in await again.take(count - len(seen))]
    assert seen + rest == [f"argocd/{it}" for it in range(count)]


async def test_a_last_event_id_that_is_no_number_is_refused(
    api: ApiFixture, one: ServiceReplica
) -> None:
    who = await api.person("viewer")
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
        events = await subscriber.next()  # type: ignore[attr-defined]
        if events.name == "end":
            return seen, events.data
        seen.append(events.data["subject"])


async def test_a_stream_ends_when_its_login_does(api: ApiFixture, one: ServiceReplica) -> None:
    who = await api.person("viewer")
    async with subscribed(one.url, who.token) as subscriber:
        async with api.engine.begin() as connection:
            revoked = update(api_tokens).where(api_tokens.c.principal_id == who.id)
            await connection.execute(revoked.values(revoked_at=api.clock()))
        end = await subscriber.next()
    assert (end.name, end.data["reason"]) == ("end", "the login has ended")


async def test_a_permission_that_was_taken_away_ends_the_stream(
    api: ApiFixture, one: ServiceReplica
) -> None:
    who = await api.person("viewer")
    async with subscribed(one.url, who.token) as subscriber:
        async with api.engine.begin() as connection:
            await connection.execute(delete(bindings).where(bindings.c.principal_id == who.id))
        end = await subscriber.next()
    assert (end.name, end.data["reason"]) == ("end", "you no longer have permission to read this")


async def test_a_permission_that_was_given_is_used_by_an_open_stream(
    api: ApiFixture, one: ServiceReplica
) -> None:
    who = await api.person()
    async with subscribed(one.url, who.token) as subscriber:
        role = api.roles[api.account + "viewer"]
        await api.put("bindings", account_id=api.account, principal_id=who.id, role_id=role)
        await eventually(lambda: _views(one)[0].bindings)
        await note_changes(api, changed("argocd/a"))
        assert (await subscriber.next()).data["subject"] == "argocd/a"


def _views(replica: ServiceReplica) -> list[EventVisibility]:
    hub = replica.dependencies.hub
    return [listener.view for mine in hub._listeners.values() for listener in mine]
