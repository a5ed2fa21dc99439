"""What an agent may send: bounds are told to it, and do not end its link for ever."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from bus.ids import new_id
from bus.link import Fenced, Hello, Items, Roots, WantBodies
from service.gateway.bounds import AGAIN_AFTER, ALLOWED_BYTES, LARGEST
from service.gateway.opening import EPOCHS
from service.store.tables import agents, applications, epochs
from tests.service.client import Identity, Outbox, application, connect
from tests.service.world import World

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


def hello_of(identity: Identity, epoch: str, **more: Any) -> Hello:
    told: dict[str, Any] = {"protocol": (1, 2), "version": "1.0", "epoch": epoch, **more}
    return Hello(account=identity.account, agent=identity.agent, instance="i", **told)


@pytest.mark.parametrize("more", TOO_MUCH, ids=lambda it: next(iter(it)))
async def test_a_hello_that_is_too_much_is_refused_and_named(
    world: World, more: dict[str, Any]
) -> None:
    identity = await world.enrolled()
    async with connect(identity) as link:
        await link.send(hello_of(identity, **{"epoch": "e", **more}))
        told = await link.until(Fenced)
    assert told.retry_after == AGAIN_AFTER
    assert ("at most" in told.reason) or ("expected 0 to" in told.reason)
    assert await world.rows(epochs) == []
    (row,) = await world.rows(agents)
    assert row.allowed == {}


@pytest.mark.parametrize("number", [-1, 2**63, 2**64 - 1])
async def test_an_item_out_of_range_is_named_and_the_agent_may_come_back(
    world: World, number: int
) -> None:
    identity, outbox = await world.enrolled(), Outbox()
    good = outbox.state(application("shop"))
    bad = msgspec.structs.replace(good, sequence=number)
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        await link.send(Items(items=(bad,)))
        told = await link.until(Fenced)
    assert f"sequence of an item is {number}" in told.reason
    assert told.retry_after == AGAIN_AFTER
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        assert (await link.put([good])).through == 1


async def test_roots_out_of_range_are_named(world: World) -> None:
    identity, outbox = await world.enrolled(), Outbox()
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        await link.send(Roots(kinds={}, through=2**63))
        assert "through of Roots" in (await link.until(Fenced)).reason


async def test_an_agent_brings_few_new_epochs_within_an_hour(world: World) -> None:
    identity = await world.enrolled()
    for number in range(EPOCHS):
        async with connect(identity) as link:
            await link.hello(identity, f"e{number}")
    async with connect(identity) as link:
        await link.send(hello_of(identity, "one more"))
        told = await link.until(Fenced)
    assert "made anew" in told.reason
    assert told.retry_after == 3600
    assert len(await world.rows(epochs)) == EPOCHS
    async with connect(identity) as link:
        await link.hello(identity, "e0")  # one that is known comes back as before


async def test_tombstones_that_nobody_asked_for_remove_nothing(world: World) -> None:
    identity, outbox = await world.enrolled(), Outbox()
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        await link.put([outbox.state(application(f"a{n}")) for n in range(20)])
        names = tuple(outbox.objects["Application"])
        outbox.objects["Application"].clear()
        (bodies,) = outbox.answers(WantBodies(kind="Application", subjects=names))
        await link.send(bodies)
        await link.put([outbox.fact("fact.drift.began.v1", "argocd/a0", {})])
    assert len(await world.rows(applications)) == 20
