"""Asks that wait for the bus: one for each thing; facts are all told."""

from __future__ import annotations

import asyncio

import pytest

from agent.bridge.tasks.task_traces import TaskTraces
from agent.ingress.pending_asks import PendingAsks
from bus.carrier import CarrierError
from bus.events import CompareApp, Event, HealthAssessed, RefreshApp
from bus.identity import AppKey
from bus.status import HealthStatus
from bus.trace import Trace
from tests.support import eventually

KEY = AppKey("argocd", "shop")
SOFT, HARD = RefreshApp(app=KEY), RefreshApp(app=KEY, hard=True)
SICK = HealthAssessed(app=KEY, status=HealthStatus.DEGRADED)
WELL = HealthAssessed(app=KEY, status=HealthStatus.HEALTHY)


class FlakyBus:
    """Takes what it is given, or is away once."""

    def __init__(self, *, away: bool = False) -> None:
        self.away = away
        self.heard: list[Event] = []
        self.traces: list[Trace | None] = []

    async def publish(self, *events: Event, trace: Trace | None = None) -> None:
        if self.away:
            self.away = False
            raise CarrierError("away")
        self.heard += events
        self.traces += [trace for _ in events]


async def published(bus: FlakyBus, *events: Event, count: int) -> list[Event]:
    pending = PendingAsks(bus.publish)
    pending.put(*events)
    async with asyncio.TaskGroup() as tasks:
        pump = tasks.create_task(pending.run())
        await eventually(lambda: len(bus.heard) >= count)
        pump.cancel()
    return bus.heard


@pytest.mark.parametrize("asks", [(SOFT, HARD), (HARD, SOFT)], ids=["hard last", "soft last"])
async def test_asks_of_one_thing_are_one_and_a_hard_one_stays_hard(
    asks: tuple[Event, ...],
) -> None:
    assert await published(FlakyBus(), *asks, CompareApp(app=KEY), count=2) == [
        HARD,
        CompareApp(app=KEY),
    ]


async def test_two_facts_of_one_thing_are_two_in_their_order() -> None:
    assert await published(FlakyBus(), SICK, WELL, count=2) == [SICK, WELL]


async def test_an_ask_belongs_to_the_trace_of_the_task_that_runs() -> None:
    bus, traces, trace = FlakyBus(), TaskTraces(), Trace.start()
    pending = PendingAsks(bus.publish, traces.trace_of)
    other = CompareApp(app=AppKey("argocd", "other"))
    with traces.of_operation(KEY, trace):
        pending.put(SOFT, other, SICK)
        async with asyncio.TaskGroup() as tasks:
            pump = tasks.create_task(pending.run())
            await eventually(lambda: len(bus.heard) == 3)
            pump.cancel()
    assert bus.traces == [trace, None, trace]
    assert traces.trace_of(SOFT) is None


async def test_what_could_not_be_published_waits_and_is_not_lost() -> None:
    assert await published(FlakyBus(away=True), SOFT, SICK, count=2) == [SOFT, SICK]
