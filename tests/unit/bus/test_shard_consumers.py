"""Each shard is taken by one dispatcher at a time, and what it leaves is taken by the next."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from bus.carrier import CarrierError
from bus.dispatcher import Dispatcher
from bus.events import Compared, RefreshApp, RefreshRepository, SyncApp
from bus.events.examples import example_of
from bus.identity import SHARD_NAMES, AppKey, RepositoryKey
from bus.jetstream import Bus, DispatchOptions
from bus.jetstream.provisioner import TopologyConflictError
from bus.route import Route
from bus.shard_consumer_plans import shard_consumers
from tests.support import eventually
from tests.unit.bus.dispatch_fixture import (
    QUICK,
    GateHandler,
    always_open,
    dispatching,
    holds,
    route_of,
    settings_of,
)

APPS = tuple(AppKey("argocd", f"app-{number}") for number in range(24))
ASKS = tuple(RefreshApp(app=app) for app in APPS)
EVEN, ODD = SHARD_NAMES[::2], SHARD_NAMES[1::2]
ASK = ASKS[0]


@pytest.fixture
async def bus(nats_url: str) -> AsyncIterator[Bus]:
    async with Bus.open(settings_of(nats_url)) as bus:
        await bus.provision()
        yield bus


@asynccontextmanager
async def replica(
    bus: Bus, shards: dict[str, int], *routes: Route, options: DispatchOptions = QUICK
) -> AsyncIterator[Dispatcher]:
    dispatcher = bus.dispatcher(routes, None, options, divided=True)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(dispatcher.run())
        await dispatcher.ready()
        await dispatcher.open(shards)
        yield dispatcher
        dispatcher.stop()


def terms(shards: tuple[str, ...], term: int = 1) -> dict[str, int]:
    return dict.fromkeys(shards, term)


async def test_two_replicas_divide_asks_commands_and_facts(bus: Bus) -> None:
    one, other = always_open(), always_open()
    compared = [Compared(**{**_fields(), "app": app}) for app in APPS]
    commands = [SyncApp(app=app, id=f"c{app.name}", actor="alice") for app in APPS]

    def routes(handler: GateHandler) -> tuple[Route, ...]:
        return tuple(route_of(handler, event) for event in (RefreshApp, SyncApp, Compared))

    async with (
        replica(bus, terms(EVEN), *routes(one)),
        replica(bus, terms(ODD), *routes(other)),
    ):
        await bus.publish(*ASKS, *commands, *compared)
        await eventually(lambda: len(one.left) + len(other.left) == 3 * len(APPS))
        await holds(bus, ASK=0, CMD=0)
    assert {it.shard for it in one.left} <= set(EVEN)
    assert {it.shard for it in other.left} <= set(ODD)


async def test_a_drained_shard_is_taken_by_its_next_holder_and_the_others_stay(bus: Bus) -> None:
    one, other = always_open(), always_open()
    async with (
        replica(bus, terms(SHARD_NAMES), route_of(one, RefreshApp)) as first,
        replica(bus, {}, route_of(other, RefreshApp)) as second,
    ):
        await bus.publish(*ASKS)
        await eventually(lambda: len(one.left) == len(ASKS))
        await first.drain(ODD)
        await second.open(terms(ODD, 2))
        await bus.publish(*ASKS)
        await eventually(lambda: len(one.left) + len(other.left) == 2 * len(ASKS))
    assert {it.shard for it in one.left[len(ASKS) :]} <= set(EVEN)
    assert {it.shard for it in other.left} <= set(ODD)


async def test_draining_hands_back_what_waits_and_waits_for_what_is_in_work(bus: Bus) -> None:
    slow, successor = GateHandler(), always_open()
    lane = route_of(slow, RefreshApp, lane=lambda _: "one lane for all")
    async with (
        replica(bus, terms(SHARD_NAMES), lane) as first,
        replica(bus, {}, route_of(successor, RefreshApp)) as second,
    ):
        await bus.publish(*ASKS)
        await eventually(lambda: first.held == len(ASKS))
        draining = asyncio.create_task(first.drain(SHARD_NAMES))
        await eventually(lambda: first.held == 1)
        assert not draining.done()
        slow.open.set()
        await draining
        assert first.held == 0
        await second.open(terms(SHARD_NAMES, 2))
        await eventually(lambda: len(successor.left) == len(ASKS) - 1)
    assert len(slow.left) == 1


async def test_a_dead_holders_deliveries_come_at_once_and_not_after_the_ack_wait(
    bus: Bus, nats_url: str
) -> None:
    """The former holder is not gone: it holds its deliveries, and has requests for more."""
    paused, heir = GateHandler(), always_open()
    shard, never = {ASK.shard: 1}, 3600.0
    async with Bus.open(settings_of(nats_url, agent=bus.settings.agent, ack_wait=never)) as former:
        dispatcher = former.dispatcher((route_of(paused, RefreshApp),), None, QUICK, divided=True)
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(dispatcher.run())
            await dispatcher.ready()
            await dispatcher.open(shard)
            await bus.publish(ASK)
            await eventually(lambda: paused.came)
            async with replica(bus, {ASK.shard: 2}, route_of(heir, RefreshApp)):
                await eventually(lambda: heir.left == [ASK])
                await bus.publish(ASK)
                await eventually(lambda: heir.left == [ASK, ASK])
            assert paused.came == [ASK]
            running.cancel()


async def test_a_former_holder_is_refused_its_consumer(bus: Bus) -> None:
    handler = always_open()
    route = route_of(handler, RefreshApp)
    (plan,) = shard_consumers(bus.scope, (route,), ASK.shard, 6, ack_wait=30)
    async with replica(bus, {ASK.shard: 7}, route):
        with pytest.raises(TopologyConflictError):
            await bus.provisioner.consumer(plan)


async def test_a_former_holder_that_opens_late_takes_nothing_from_the_present_one(bus: Bus) -> None:
    """It was stopped between the table and the bus, and another has the shard since."""
    former, present = always_open(), always_open()
    stopped = DispatchOptions(may_act=lambda: False)
    async with (
        replica(bus, {ASK.shard: 7}, route_of(present, RefreshApp)),
        replica(bus, {}, route_of(former, RefreshApp), options=stopped) as late,
    ):
        with pytest.raises(CarrierError, match="has not renewed its place in the Lease"):
            await late.open({ASK.shard: 6})
        await bus.publish(ASK)
        await eventually(lambda: present.left == [ASK])
    assert not former.came


async def test_an_undivided_agent_that_was_stopped_leaves_the_consumers_of_shards(bus: Bus) -> None:
    handler = always_open()
    route = route_of(handler, RefreshApp)
    async with replica(bus, {ASK.shard: 1}, route):
        with pytest.raises(CarrierError, match="has not renewed its place in the Lease"):
            await bus.provision([route], lambda: False)
        await bus.publish(ASK)
        await eventually(lambda: handler.left == [ASK])


async def test_facts_are_read_on_from_where_the_former_holder_ended(bus: Bus) -> None:
    first, second = always_open(), always_open()
    facts = [Compared(**{**_fields(), "app": ASK.app, "project": f"p{it}"}) for it in range(3)]
    async with replica(bus, {ASK.shard: 1}, route_of(first, Compared)) as dispatcher:
        await bus.publish(facts[0])
        await eventually(lambda: first.left == facts[:1])
        await dispatcher.drain([ASK.shard])
    await bus.publish(facts[1])
    async with replica(bus, {ASK.shard: 2}, route_of(second, Compared)):
        await bus.publish(facts[2])
        await eventually(lambda: len(second.left) >= 2)
    assert second.left == facts[1:]


async def test_replicas_begin_where_an_undivided_agent_ended_and_the_other_way_round(
    bus: Bus,
) -> None:
    before, divided, after = GateHandler(), GateHandler(), always_open()
    names = {"name": "render"}
    async with dispatching(bus, route_of(before, RefreshApp, **names), options=QUICK):
        await bus.publish(ASK)
        await eventually(lambda: before.came == [ASK])
        async with replica(bus, terms(SHARD_NAMES), route_of(divided, RefreshApp, **names)):
            await eventually(lambda: divided.came == [ASK])
            divided.open.set()
        before.open.set()
    await bus.publish(ASKS[1])
    route = route_of(after, RefreshApp, **names)
    await bus.provision([route])
    async with dispatching(bus, route):
        await eventually(lambda: ASKS[1] in after.left)


async def test_the_parts_of_one_repository_are_one_piece_of_work_in_a_replica(bus: Bus) -> None:
    gate = GateHandler()
    repository = RepositoryKey.of("https://git.example/acme/shop.git")
    parts = [RefreshRepository(repository=repository, part=shard) for shard in EVEN]
    async with replica(bus, terms(SHARD_NAMES), route_of(gate, RefreshRepository)):
        await bus.publish(parts[0])
        await eventually(lambda: gate.came == parts[:1])
        await bus.publish(*parts[1:])
        await holds(bus, ASK=2)
        gate.open.set()
        await holds(bus, ASK=0)
    assert len(gate.left) == 2


def _fields() -> dict[str, object]:
    example = example_of(Compared)
    return {name: getattr(example, name) for name in example.__struct_fields__}
