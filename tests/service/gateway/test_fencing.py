"""One agent, two connections: the newest wins, on one replica and across two; bad frames end it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from bus.link import MAX_FRAME, Ack, Beat, Fenced, Hello, Items
from service.gateway.connection import step
from service.gateway.link_state import SessionTerms, new_link
from service.gateway.sessions import SessionHolder
from service.store.tables import agents, applications, facts
from tests.service.fake_agent import (
    AgentConnection,
    AgentIdentity,
    FakeOutbox,
    application,
    connect,
)
from tests.service.service_fixture import RunningService, open_service, settings
from tests.support import eventually


@pytest.fixture
async def second(
    database_url: str, running_service: RunningService
) -> AsyncIterator[RunningService]:
    """Another replica on the same database."""
    async with open_service(settings(database_url)) as service:
        yield RunningService(service)


async def test_the_newest_connection_wins(running_service: RunningService) -> None:
    identity = await running_service.enrolled()
    async with connect(identity) as old, connect(identity) as new:
        first = await old.hello(identity, "e")
        second = await new.hello(identity, "e")
        assert (first.fence, second.fence) == (1, 2)
        ended = await old.until(Fenced)
        assert "another instance" in ended.reason
        assert ended.retry_after == 0


async def test_the_newest_connection_wins_across_replicas(
    running_service: RunningService, second: RunningService
) -> None:
    identity = await running_service.enrolled()
    elsewhere = replace(identity, url=second.service.url)
    outbox = FakeOutbox()
    async with connect(identity) as old, connect(elsewhere) as new:
        await old.hello(identity, outbox.epoch)
        await new.hello(elsewhere, outbox.epoch)
        await old.until(Fenced)
        await new.put([outbox.state(application("shop"))])
    assert len(await running_service.rows(applications)) == 1


async def test_a_fenced_connection_stores_nothing(running_service: RunningService) -> None:
    outbox, identity = FakeOutbox(), await running_service.enrolled()
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        async with running_service.service.dependencies.engine.begin() as connection:
            await connection.execute(agents.update().values(fence=agents.c.fence + 1))
        await link.send(Items(items=(outbox.state(application("shop")),)))
        await link.until(Fenced)
    assert await running_service.rows(applications) == []


async def test_a_restarted_service_goes_on(
    database_url: str, running_service: RunningService
) -> None:
    outbox, identity = FakeOutbox(), await running_service.enrolled()
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        await link.put([outbox.fact("f.v1", "argocd/shop", {})])
    async with open_service(settings(database_url)) as again:
        moved = replace(identity, url=again.url)
        async with connect(moved) as link:
            assert (await link.hello(moved, outbox.epoch)).acked == 1
            await link.put([outbox.fact("f.v1", "argocd/shop", {})])
    assert len(await running_service.rows(facts)) == 2


async def test_a_link_that_ends_is_shown_as_ended(running_service: RunningService) -> None:
    identity = await running_service.enrolled()
    async with connect(identity) as link:
        await link.hello(identity, "e")
        assert (await running_service.rows(agents))[0].connected

    async def ended() -> bool:
        return not (await running_service.rows(agents))[0].connected

    await eventually(ended)


async def test_round_trip_and_skew_are_measured(running_service: RunningService) -> None:
    identity = await running_service.enrolled()
    async with connect(identity) as link:
        welcome = await link.hello(identity, "e")
        await link.put(())

        async def measured() -> bool:
            await link.send(Beat(sent_at=welcome.server_time + 3600))
            await link.until(Beat)
            return (await running_service.rows(agents))[0].clock_skew_ms is not None

        await eventually(measured)
    (row,) = await running_service.rows(agents)
    assert row.round_trip_ms >= 0
    assert 3_500_000 < row.clock_skew_ms <= 3_700_000


@pytest.mark.parametrize(
    ("versions", "side"), [((1, 2), "agent"), ((5, 6), "service")], ids=["older", "newer"]
)
def test_versions_that_do_not_meet_are_refused_clearly(
    versions: tuple[int, int], side: str
) -> None:
    caller = SessionHolder(account_id="a", account="a", agent_id="b", agent="b", expires_at=1e12)
    link = new_link(caller, SessionTerms(protocol=(3, 4)), 0.0)
    hello = Hello(account="a", agent="b", instance="i", epoch="e", protocol=versions, version="1")
    (fenced,) = step(link, hello, 0.0).frames
    assert isinstance(fenced, Fenced)
    assert f"upgrade the {side}" in fenced.reason


@pytest.mark.parametrize(
    "text",
    ["", "not json", "[]", '{"frame":"Nonsense"}', '{"frame":"Items","items":7}', "[" * 5000],
    ids=["empty", "text", "list", "unknown", "wrong type", "deep"],
)
async def test_a_malformed_frame_ends_the_connection_with_a_reason(
    running_service: RunningService, text: str
) -> None:
    identity = await running_service.enrolled()
    async with connect(identity) as link:
        await link.hello(identity, "e")
        await link.socket.send_str(text)
        with pytest.raises(ConnectionError, match="1007 a frame that cannot be read"):
            await link.until(Ack)


async def test_an_oversized_frame_ends_the_connection(running_service: RunningService) -> None:
    identity = await running_service.enrolled()
    async with connect(identity) as link:
        await link.hello(identity, "e")
        await link.socket.send_str(" " * (MAX_FRAME + 1))
        with pytest.raises(ConnectionError, match="1009"):
            await link.until(Ack)


async def test_one_malformed_agent_harms_no_other(running_service: RunningService) -> None:
    outbox, good, bad = (
        FakeOutbox(),
        await running_service.enrolled("good"),
        await running_service.enrolled("bad"),
    )
    async with connect(good) as link:
        await link.hello(good, outbox.epoch)
        async with connect(bad) as broken:
            await broken.socket.send_str("nonsense")
            with pytest.raises(ConnectionError):
                await broken.until(Ack)
        assert (await link.put([outbox.state(application("shop"))])).through == 1


async def test_the_first_frame_is_hello(running_service: RunningService) -> None:
    async with connect(await running_service.enrolled()) as link:
        await link.send(Items(items=()))
        with pytest.raises(ConnectionError, match="Hello"):
            await link.until(Ack)


async def test_a_session_serves_its_own_agent_only(running_service: RunningService) -> None:
    mine, other = await running_service.enrolled("mine"), await running_service.enrolled("other")
    async with connect(mine) as link:
        with pytest.raises(ConnectionError):
            await _hello_as(link, other)


HOSTILE = "'; DROP TABLE applications; -- <script>alert(1)</script> \u0000 \ufffe"


async def test_hostile_text_is_stored_as_text(running_service: RunningService) -> None:
    outbox, identity = FakeOutbox(), await running_service.enrolled()
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        item = outbox.state(
            application(HOSTILE, labels={"x": HOSTILE, "plumbline.dev/service": HOSTILE})
        )
        long = outbox.state(application("n" * 5000))
        assert (await link.put([item, long, outbox.state(application("shop"))])).through == 3
    names = {row.name for row in await running_service.rows(applications)}
    assert names == {HOSTILE.replace("\u0000", "\ufffd"), "shop"}


async def test_a_poisoned_item_does_not_stand_in_the_way(running_service: RunningService) -> None:
    outbox, identity = FakeOutbox(), await running_service.enrolled()
    poison = (
        '{"frame":"Items","items":[{"sequence":2,"before":1,"kind":"fact","type":"f.v1",'
        '"id":"x","subject":"s","time":"","body":[1e999]}]}'
    )
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        await link.put([outbox.fact("f.v1", "argocd/shop", {})])
        await link.socket.send_str(poison)
        assert (await link.until(Ack)).through == 2
    assert len(await running_service.rows(facts)) == 1


async def _hello_as(link: AgentConnection, identity: AgentIdentity) -> None:
    await link.hello(identity, "e")
