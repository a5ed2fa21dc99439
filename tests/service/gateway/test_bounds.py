"""What an agent may send: bounds are told to it, and do not end its link for ever."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from bus.identity import new_id
from bus.link import Chunk, Credit, End, Fenced, Hello, Items, Roots, WantBodies
from service.gateway.frame_bounds import AGAIN_AFTER, ALLOWED_BYTES, LARGEST
from service.gateway.link_opening import EPOCHS
from service.gateway.task_streams import TaskStreams
from service.store.tables import agents, applications, epochs
from tests.service.fake_agent import AgentIdentity, FakeOutbox, application, connect
from tests.service.service_fixture import RunningService

TOO_MUCH: tuple[dict[str, Any], ...] = (
    {"allowed": {"kinds": "x" * ALLOWED_BYTES}},
    {"capabilities": ("task.sync",) * 65},
    {"capabilities": ("x" * 65,)},
    {"running": (new_id(),) * 1001},
    {"outbox": LARGEST + 1},
    {"outbox": -1},
    {"version": "1" * 65},
    {"epoch": "e" * 37},
    {"cluster_uid": "c" * 65},
)
NO_TIMES = (
    "0001-01-01T00:00:00Z",
    "0001-01-01T00:00:00+23:59",
    "9999-12-31T23:59:59Z",
    "9999-12-31T23:59:59-23:59",
)
"""Of no clock; computing with them leaves the years that Python knows."""
CHUNKS = (
    {"number": 2**70},
    {"number": -1},
    {"dropped": 2**70},
    {"text": "x" * (16 * 1024 + 1)},
)


def hello_of(identity: AgentIdentity, epoch: str, **more: Any) -> Hello:
    fenced: dict[str, Any] = {"protocol": (1, 2), "version": "1.0", "epoch": epoch, **more}
    return Hello(account=identity.account, agent=identity.agent, instance="i", **fenced)


@pytest.mark.parametrize("more", TOO_MUCH, ids=lambda it: next(iter(it)))
async def test_a_hello_that_is_too_much_is_refused_and_named(
    running_service: RunningService, more: dict[str, Any]
) -> None:
    identity = await running_service.enrolled()
    async with connect(identity) as link:
        await link.send(hello_of(identity, **{"epoch": "e", **more}))
        fenced = await link.until(Fenced)
    assert fenced.retry_after == AGAIN_AFTER
    assert ("at most" in fenced.reason) or ("expected 0 to" in fenced.reason)
    assert await running_service.rows(epochs) == []
    (row,) = await running_service.rows(agents)
    assert row.allowed == {}


@pytest.mark.parametrize("number", [-1, 2**63, 2**64 - 1])
async def test_an_item_out_of_range_is_named_and_the_agent_may_come_back(
    running_service: RunningService, number: int
) -> None:
    identity, outbox = await running_service.enrolled(), FakeOutbox()
    good = outbox.state(application("shop"))
    bad = msgspec.structs.replace(good, sequence=number)
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        await link.send(Items(items=(bad,)))
        fenced = await link.until(Fenced)
    assert f"sequence of an item is {number}" in fenced.reason
    assert fenced.retry_after == AGAIN_AFTER
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        assert (await link.put([good])).through == 1


async def test_roots_out_of_range_are_named(running_service: RunningService) -> None:
    identity, outbox = await running_service.enrolled(), FakeOutbox()
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        await link.send(Roots(kinds={}, through=2**63))
        assert "through of Roots" in (await link.until(Fenced)).reason


async def test_an_agent_brings_few_new_epochs_within_an_hour(
    running_service: RunningService,
) -> None:
    identity = await running_service.enrolled()
    for number in range(EPOCHS):
        async with connect(identity) as link:
            await link.hello(identity, f"e{number}")
    async with connect(identity) as link:
        await link.send(hello_of(identity, "one more"))
        fenced = await link.until(Fenced)
    assert "made anew" in fenced.reason
    assert fenced.retry_after == 3600
    assert len(await running_service.rows(epochs)) == EPOCHS
    async with connect(identity) as link:
        await link.hello(identity, "e0")  # one that is known comes back as before


async def test_tombstones_that_nobody_asked_for_remove_nothing(
    running_service: RunningService,
) -> None:
    identity, outbox = await running_service.enrolled(), FakeOutbox()
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        await link.put([outbox.state(application(f"a{n}")) for n in range(20)])
        names = tuple(outbox.objects["Application"])
        outbox.objects["Application"].clear()
        (bodies,) = outbox.answers(WantBodies(kind="Application", subjects=names))
        await link.send(bodies)
        await link.put([outbox.fact("fact.drift.began.v1", "argocd/a0", {})])
    assert len(await running_service.rows(applications)) == 20


@pytest.mark.parametrize("time", NO_TIMES)
async def test_a_time_of_no_clock_stops_neither_the_link_nor_the_lists_of_others(
    running_service: RunningService, time: str
) -> None:
    identity, outbox = await running_service.enrolled(), FakeOutbox()
    items = (
        outbox.fact("fact.drift.began.v1", "argocd/shop", {}),
        outbox.state(application("shop")),
    )
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        await link.put([msgspec.structs.replace(it, time=time) for it in items])
        assert (await link.put([outbox.state(application("pay"))])).through == 3
    for path in ("/timeline", "/applications", "/agents"):
        assert (await running_service.call("GET", path))[0] == 200, path
    (fact,) = (await running_service.call("GET", "/timeline"))[1]["items"]
    assert fact["time"].startswith("20")


async def test_an_application_without_a_namespace_is_left_out_and_the_next_item_is_stored(
    running_service: RunningService,
) -> None:
    identity, outbox = await running_service.enrolled(), FakeOutbox()
    shop = outbox.state(application("shop"))
    gone = msgspec.structs.replace(outbox.gone("Application", "argocd/shop"), subject="shop")
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        await link.put([shop, gone])
        assert (await link.put([outbox.state(application("pay"))])).through == 3
    assert {row.name for row in await running_service.rows(applications)} == {"shop", "pay"}


@pytest.mark.parametrize("more", CHUNKS, ids=lambda it: next(iter(it)))
async def test_a_chunk_out_of_range_is_named(
    running_service: RunningService, more: dict[str, Any]
) -> None:
    identity, outbox = await running_service.enrolled(), FakeOutbox()
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        await link.send(Chunk(**{"task": new_id(), "number": 0, "text": "", **more}))
        fenced = await link.until(Fenced)
    assert "chunk" in fenced.reason.lower()
    assert fenced.retry_after == AGAIN_AFTER


async def test_a_chunk_that_no_reader_asked_for_ends_the_link_and_says_so(
    running_service: RunningService,
) -> None:
    identity, outbox = await running_service.enrolled(), FakeOutbox()
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        await link.send(Chunk(task="t1", number=0, text="a line"))
        fenced = await link.until(Fenced)
    assert fenced.reason == "a chunk of task t1 without credit from its reader"
    assert fenced.retry_after == AGAIN_AFTER


async def test_chunks_beyond_the_credit_of_their_reader_end_the_link(
    running_service: RunningService,
) -> None:
    """The credit of one stream is not that of another, and it ends with its stream."""
    identity, outbox = await running_service.enrolled(), FakeOutbox()
    dependencies = running_service.service.dependencies
    streams = TaskStreams(engine=dependencies.engine, signals=dependencies.signals)
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        (agent,) = await running_service.rows(agents)
        await streams.credit(agent.id, "t1", 2)
        assert (await link.until(Credit)).chunks == 2
        await streams.credit(agent.id, "t2", 1)
        await link.until(Credit)
        await link.send(End(task="t2", reason="eof"))
        for number in range(2):
            await link.send(Chunk(task="t1", number=number, text="a line"))
        await link.put([outbox.state(application("shop"))])
        await link.send(Chunk(task="t2", number=0, text="after its end"))
        assert "task t2" in (await link.until(Fenced)).reason
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        await streams.credit(agent.id, "t1", 1)
        await link.until(Credit)
        await link.send(Chunk(task="t1", number=0, text="a line"))
        await link.send(Chunk(task="t1", number=1, text="one too many"))
        assert "task t1" in (await link.until(Fenced)).reason
