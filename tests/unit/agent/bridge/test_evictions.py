"""What a full outbox threw out is told once, also where the telling fails the first time."""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec
import pytest

from agent.bridge.reporting.outbox_entries import EVICTED, Evictions
from agent.clock import SystemClock
from bus.carrier import CarrierError
from bus.jetstream import Bus
from bus.jetstream.outbox import Outbox
from bus.link import LinkItem
from tests.unit.bus.dispatch_fixture import settings_of


@pytest.fixture
async def bus(nats_url: str) -> AsyncIterator[Bus]:
    async with Bus.open(settings_of(nats_url)) as bus:
        await bus.provision()
        yield bus


async def reported(outbox: Outbox) -> list[dict[str, int]]:
    held = await outbox.read(0, limit=50, max_bytes=1 << 20)
    items = [msgspec.json.decode(one.data, type=LinkItem) for one in held]
    assert {item.type for item in items} <= {EVICTED}
    return [msgspec.json.decode(item.body) for item in items]


async def test_what_was_thrown_out_is_told_once(bus: Bus) -> None:
    outbox = bus.outbox()
    evictions = Evictions(outbox=outbox, clock=SystemClock())
    outbox.evicted_states, outbox.evicted_facts = 3, 1
    await evictions.report()
    await evictions.report()
    outbox.evicted_facts = 5
    await evictions.report()
    assert await reported(outbox) == [{"states": 3, "facts": 1}, {"states": 0, "facts": 4}]


async def test_a_telling_that_failed_is_not_counted(bus: Bus) -> None:
    outbox = bus.outbox()
    evictions = Evictions(outbox=outbox, clock=SystemClock())
    outbox.evicted_states = 3
    await bus.connection.jetstream.delete_stream(bus.scope.name("UP"))
    with pytest.raises(CarrierError):
        await evictions.report()
    await bus.provision()
    outbox.evicted_states = 4
    await evictions.report()
    await evictions.report()
    assert await reported(outbox) == [{"states": 3, "facts": 0}, {"states": 1, "facts": 0}]
