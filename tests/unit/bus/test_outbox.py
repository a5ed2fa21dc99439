"""The outbox on a real NATS: order, merging, forgetting, and what is thrown out when it is full."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from bus.jetstream import Bus
from bus.jetstream.outbox import Outbox, OutboxEntry, OutboxError
from tests.unit.bus.dispatch_fixture import settings_of


@pytest.fixture
async def bus(nats_url: str) -> AsyncIterator[Bus]:
    async with Bus.open(settings_of(nats_url)) as bus:
        await bus.provision()
        yield bus


@pytest.fixture
def outbox(bus: Bus) -> Outbox:
    return bus.outbox()


def fact(name: str, data: bytes = b"f") -> OutboxEntry:
    return OutboxEntry(branch="fact", name=name, data=data, message_id=f"up:{name}")


def state(name: str, data: bytes = b"s") -> OutboxEntry:
    return OutboxEntry(branch="state", name=name, data=data)


async def held(outbox: Outbox, after: int = 0) -> list[bytes]:
    found: list[bytes] = []
    while part := await outbox.read(after, limit=10, max_bytes=1 << 20):
        found += [one.data for one in part]
        after = part[-1].sequence
    return found


async def test_it_is_read_in_order_and_again(outbox: Outbox) -> None:
    await outbox.append(*(fact(str(n), b"%d" % n) for n in range(25)))
    first = await held(outbox)
    assert first == [b"%d" % n for n in range(25)] == await held(outbox)


async def test_states_of_one_object_are_merged_and_facts_never(outbox: Outbox) -> None:
    await outbox.append(state("a", b"1"), fact("x"), state("a", b"2"), fact("y"), state("a", b"1"))
    assert await held(outbox) == [b"f", b"f", b"1"]


async def test_a_fact_that_is_recorded_twice_is_there_once(outbox: Outbox) -> None:
    await outbox.append(fact("x"))
    await outbox.append(fact("x"))
    assert await held(outbox) == [b"f"]


async def test_what_was_acknowledged_is_forgotten(outbox: Outbox) -> None:
    await outbox.append(fact("a", b"1"), fact("b", b"2"), fact("c", b"3"))
    await outbox.forget(2)
    assert await held(outbox) == [b"3"]
    position = await outbox.position()
    assert (position.first, position.newest) == (3, 3)


async def test_a_report_of_256_kib_fits(outbox: Outbox) -> None:
    await outbox.append(state("big", b"x" * 256 * 1024))
    assert [len(one) for one in await held(outbox)] == [256 * 1024]


async def test_its_epoch_stays_until_the_stream_is_made_anew(bus: Bus, outbox: Outbox) -> None:
    born = (await outbox.position()).epoch
    await bus.provision()
    assert (await bus.outbox().position()).epoch == born
    await bus.connection.jetstream.delete_stream(bus.scope.name("UP"))
    await bus.provision()
    assert (await outbox.position()).epoch != born


async def test_when_it_is_full_states_go_first_then_the_oldest_facts(
    bus: Bus, outbox: Outbox
) -> None:
    jetstream, name = bus.connection.jetstream, bus.scope.name("UP")
    info = await jetstream.stream_info(name)
    await jetstream.update_stream(info.config.evolve(max_bytes=100_000))
    await outbox.append(*(state(str(n), b"s" * 1000) for n in range(30)))
    await outbox.append(*(fact(str(n), b"%04d" % n + b"f" * 1000) for n in range(60)))
    await outbox.ease()
    assert outbox.evicted_states == 30
    assert outbox.evicted_facts == 0
    await outbox.append(*(fact(f"b{n}", b"9999" + b"f" * 1000) for n in range(25)))
    await outbox.ease()
    left = await held(outbox)
    assert 0 < outbox.evicted_facts < 60
    assert left[0][:4] == b"%04d" % outbox.evicted_facts
    assert left[-1][:4] == b"9999"


async def test_what_is_thrown_out_is_counted_exactly_while_others_append(
    bus: Bus, outbox: Outbox
) -> None:
    jetstream, name = bus.connection.jetstream, bus.scope.name("UP")
    info = await jetstream.stream_info(name)
    await jetstream.update_stream(info.config.evolve(max_bytes=100_000))
    await outbox.position()

    async def write(writer: int) -> None:
        for number in range(60):
            await outbox.append(fact(f"{writer}-{number}", b"f" * 1000))

    async with asyncio.TaskGroup() as tasks:
        for writer in range(4):
            tasks.create_task(write(writer), name=f"writer {writer}")
    assert outbox.evicted_facts > 0
    assert outbox.evicted_facts + len(await held(outbox)) == 4 * 60


async def test_a_stream_that_is_gone_throws_nothing_out(bus: Bus, outbox: Outbox) -> None:
    await bus.connection.jetstream.delete_stream(bus.scope.name("UP"))
    with pytest.raises(OutboxError):
        await outbox.ease()
    assert (outbox.evicted_states, outbox.evicted_facts) == (0, 0)
