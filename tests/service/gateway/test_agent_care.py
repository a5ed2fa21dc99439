"""What people may ask of what is known of an agent: all of it anew, or to believe what is gone."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from bus.link import WantBodies, WantBuckets
from service.store.tables import agents, applications, audit
from tests.service.client import Connection, Identity, Outbox, application, connect, resync
from tests.service.world import World

MANY = 40


@asynccontextmanager
async def linked(world: World) -> AsyncIterator[tuple[str, Connection, Outbox]]:
    """An agent with many applications, told and in step: the path of it, its link, its outbox."""
    identity, outbox = await world.enrolled(), Outbox()
    items = [outbox.state(application(f"app-{n}")) for n in range(MANY)]
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        await link.put(items)
        await resync(link, outbox)
        yield await path_of(world, identity), link, outbox


async def path_of(world: World, identity: Identity) -> str:
    rows = await world.rows(agents)
    return next(f"/agents/{row.id}" for row in rows if row.name == identity.agent)


async def test_what_was_dropped_is_rebuilt_over_the_live_link(world: World) -> None:
    async with linked(world) as (path, link, outbox):
        before = _plain(await world.rows(applications))
        status, agent = await world.call("POST", f"{path}/rebuild")
        assert (status, agent["applications"]) == (200, 0)
        assert agent["rebuildingSince"] is not None
        question = await link.until(WantBuckets)
        for answer in outbox.answers(question):
            await link.send(answer)
        await resync(link, outbox)
        _, agent = await world.call("GET", path)
    assert (agent["rootsInStep"], agent["rebuildingSince"]) == (True, None)
    assert _plain(await world.rows(applications)) == before
    assert "agent.rebuilt" in [row.action for row in await world.rows(audit)]


async def test_while_it_is_rebuilt_it_is_not_dropped_again(world: World) -> None:
    async with linked(world) as (path, link, outbox):
        await world.call("POST", f"{path}/rebuild")
        status, problem = await world.call("POST", f"{path}/rebuild")
        assert (status, problem["rule"]) == (409, "running")
        await link.until(WantBuckets)
        await resync(link, outbox)
        assert (await world.call("POST", f"{path}/rebuild"))[0] == 200


async def test_without_a_link_nothing_is_dropped(world: World) -> None:
    async with linked(world) as (path, _link, _outbox):
        pass
    async with world.service.parts.engine.begin() as connection:
        await connection.execute(agents.update().values(connected=False))
    for verb in ("rebuild", "deletions/accept"):
        status, problem = await world.call("POST", f"{path}/{verb}")
        assert (status, problem["rule"]) == (503, "agent-away")
    assert len(await world.rows(applications)) == MANY


async def test_what_is_not_believed_does_not_take_the_place_of_what_is_known(world: World) -> None:
    async with linked(world) as (path, _link, _outbox):
        pass
    (row,) = await world.rows(agents)
    identity, empty = await world.again(row.id), Outbox()
    async with connect(identity) as link:
        assert (await link.hello(identity, empty.epoch)).quarantined
        status, problem = await world.call("POST", f"{path}/rebuild")
    assert (status, problem["rule"]) == (409, "quarantined")
    assert len(await world.rows(applications)) == MANY


async def test_many_deletions_are_shown_and_believed_when_a_person_says_so(world: World) -> None:
    async with linked(world) as (path, link, outbox):
        outbox.objects["Application"].clear()
        assert await resync(link, outbox) == 0
        _, agent = await world.call("GET", path)
        assert agent["deletions"]["kinds"] == {"Application": MANY}
        status, agent = await world.call("POST", f"{path}/deletions/accept")
        assert (status, agent["deletions"]) == (200, None)
        question = await link.until(WantBodies)
        for answer in outbox.answers(question):
            await link.send(answer)
        await resync(link, outbox)
    assert await world.rows(applications) == []
    (record,) = [row for row in await world.rows(audit) if row.action == "deletions.accepted"]
    assert record.detail == {"Application": MANY}


async def test_where_nothing_is_held_there_is_nothing_to_accept(world: World) -> None:
    async with linked(world) as (path, _link, _outbox):
        assert (await world.call("POST", f"{path}/deletions/accept"))[0] == 404


async def test_what_comes_back_is_not_held_any_more(world: World) -> None:
    async with linked(world) as (path, link, outbox):
        kept = dict(outbox.objects["Application"])
        outbox.objects["Application"].clear()
        await resync(link, outbox)
        outbox.objects["Application"].update(kept)
        await resync(link, outbox)
        _, agent = await world.call("GET", path)
    assert agent["deletions"] is None


def _plain(rows: Sequence[Any]) -> list[tuple[Any, ...]]:
    return sorted(tuple(row)[:20] for row in rows)
