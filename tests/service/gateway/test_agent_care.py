"""What people may ask of what is known of an agent: all of it anew, or to believe what is gone."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from bus.link import Beat, WantBodies, WantBuckets
from service.store.tables import agents, applications, audit
from tests.service.fake_agent import (
    AgentConnection,
    AgentIdentity,
    FakeOutbox,
    application,
    connect,
    resync,
)
from tests.service.service_fixture import RunningService

MANY = 40


@asynccontextmanager
async def linked(
    running_service: RunningService,
) -> AsyncIterator[tuple[str, AgentConnection, FakeOutbox]]:
    """An agent with many applications, told and in step: the path of it, its link, its outbox."""
    identity, outbox = await running_service.enrolled(), FakeOutbox()
    items = [outbox.state(application(f"app-{n}")) for n in range(MANY)]
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        await link.put(items)
        await resync(link, outbox)
        yield await path_of(running_service, identity), link, outbox


async def path_of(running_service: RunningService, identity: AgentIdentity) -> str:
    rows = await running_service.rows(agents)
    return next(f"/agents/{row.id}" for row in rows if row.name == identity.agent)


async def test_what_was_dropped_is_rebuilt_over_the_live_link(
    running_service: RunningService,
) -> None:
    async with linked(running_service) as (path, link, outbox):
        before = _plain(await running_service.rows(applications))
        status, agent = await running_service.call("POST", f"{path}/rebuild")
        assert (status, agent["applications"]) == (200, 0)
        assert agent["rebuildingSince"] is not None
        question = await link.until(WantBuckets)
        for answer in outbox.answers(question):
            await link.send(answer)
        await resync(link, outbox)
        _, agent = await running_service.call("GET", path)
    assert (agent["rootsInStep"], agent["rebuildingSince"]) == (True, None)
    assert _plain(await running_service.rows(applications)) == before
    assert "agent.rebuilt" in [row.action for row in await running_service.rows(audit)]


async def test_a_projection_that_is_being_rebuilt_is_not_dropped_again(
    running_service: RunningService,
) -> None:
    async with linked(running_service) as (path, link, outbox):
        await running_service.call("POST", f"{path}/rebuild")
        status, problem = await running_service.call("POST", f"{path}/rebuild")
        assert (status, problem["rule"]) == (409, "running")
        await link.until(WantBuckets)
        await resync(link, outbox)
        assert (await running_service.call("POST", f"{path}/rebuild"))[0] == 200


async def test_without_a_link_nothing_is_dropped(running_service: RunningService) -> None:
    async with linked(running_service) as (path, _link, _outbox):
        pass
    async with running_service.service.dependencies.engine.begin() as connection:
        await connection.execute(agents.update().values(connected=False))
    for verb in ("rebuild", "deletions/accept"):
        status, problem = await running_service.call("POST", f"{path}/{verb}")
        assert (status, problem["rule"]) == (503, "agent-away")
    assert len(await running_service.rows(applications)) == MANY


async def test_what_is_not_believed_does_not_take_the_place_of_what_is_known(
    running_service: RunningService,
) -> None:
    async with linked(running_service) as (path, _link, _outbox):
        pass
    (row,) = await running_service.rows(agents)
    identity, empty = await running_service.again(row.id), FakeOutbox()
    async with connect(identity) as link:
        assert (await link.hello(identity, empty.epoch)).quarantined
        status, problem = await running_service.call("POST", f"{path}/rebuild")
    assert (status, problem["rule"]) == (409, "quarantined")
    assert len(await running_service.rows(applications)) == MANY


async def test_many_deletions_are_shown_and_believed_when_a_person_says_so(
    running_service: RunningService,
) -> None:
    async with linked(running_service) as (path, link, outbox):
        outbox.objects["Application"].clear()
        assert await resync(link, outbox) == 0
        _, agent = await running_service.call("GET", path)
        assert agent["deletions"]["kinds"] == {"Application": MANY}
        status, agent = await running_service.call("POST", f"{path}/deletions/accept")
        assert (status, agent["deletions"]) == (200, None)
        question = await link.until(WantBodies)
        for answer in outbox.answers(question):
            await link.send(answer)
        await resync(link, outbox)
    assert await running_service.rows(applications) == []
    (record,) = [
        row for row in await running_service.rows(audit) if row.action == "deletions.accepted"
    ]
    assert record.detail == {"Application": MANY}


async def test_tombstones_that_are_held_are_believed_at_once_when_a_person_says_so(
    running_service: RunningService,
) -> None:
    """Without another look: the next one may be a minute away."""
    async with linked(running_service) as (path, link, outbox):
        kept = 5
        for name in list(outbox.objects["Application"])[kept:]:
            await link.put([outbox.gone("Application", name)])
        held = len(await running_service.rows(applications)) - kept
        _, agent = await running_service.call("GET", path)
        assert agent["deletions"]["kinds"] == {"Application": held}
        status, agent = await running_service.call("POST", f"{path}/deletions/accept")
        assert (status, agent["deletions"]) == (200, None)
        question = await link.until(WantBodies)
        for answer in outbox.answers(question):
            await link.send(answer)
        await link.send(Beat(sent_at=1.0))
        await link.until(Beat)
        assert len(await running_service.rows(applications)) == kept


async def test_without_held_deletions_nothing_can_be_accepted(
    running_service: RunningService,
) -> None:
    async with linked(running_service) as (path, _link, _outbox):
        assert (await running_service.call("POST", f"{path}/deletions/accept"))[0] == 404


async def test_what_comes_back_is_not_held_any_more(running_service: RunningService) -> None:
    async with linked(running_service) as (path, link, outbox):
        kept = dict(outbox.objects["Application"])
        outbox.objects["Application"].clear()
        await resync(link, outbox)
        outbox.objects["Application"].update(kept)
        await resync(link, outbox)
        _, agent = await running_service.call("GET", path)
    assert agent["deletions"] is None


def _plain(rows: Sequence[Any]) -> list[tuple[Any, ...]]:
    return sorted(tuple(row)[:20] for row in rows)
