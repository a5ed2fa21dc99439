"""The states of components are reported when their clients announce a change, without a poll."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from agent.bridge.reporting.components import ComponentStates
from agent.kube.index import LiveIndex
from agent.kube.live import LiveCluster
from agent.kube.live_extent import LiveExtent
from agent.loopback import free_port
from agent.observe.health import Readiness, StoreWatch
from agent.observe.metrics import make_metrics
from agent.store.redis_artifacts import RedisArtifacts
from bus.identity import Digest
from bus.jetstream import Bus
from bus.jetstream.store_usage import StoreUsage
from handlers.report.known_secrets import KnownSecrets
from playground.server import Server
from tests.support import eventually
from tests.unit.bus.dispatch_fixture import settings_of

NEVER = 3600.0
FULL = StoreUsage(name="GT-a-b-CMD", used=990, limit=1000, guarded=True)


async def no_usage() -> Sequence[StoreUsage]:
    return ()


@dataclass
class Components:
    """Component states without a server; `seen` is what `watch` told of each component."""

    buses: tuple[Bus, ...] = ()
    readiness: Readiness = field(default_factory=Readiness)
    store: StoreWatch = field(
        default_factory=lambda: StoreWatch(usage=no_usage, metrics=make_metrics())
    )
    redis: RedisArtifacts = field(
        default_factory=lambda: RedisArtifacts.at(f"redis://127.0.0.1:{free_port()}")
    )
    seen: dict[str, str] = field(default_factory=dict)

    @asynccontextmanager
    async def watched(self) -> AsyncIterator[Components]:
        states = ComponentStates(
            readiness=self.readiness,
            known_secrets=KnownSecrets(b"s" * 32),
            buses=self.buses,
            store=self.store,
            live=LiveCluster(cast("Any", None), LiveIndex("argocd"), LiveExtent()),
            redis=self.redis,
            version="1",
            look_seconds=NEVER,
        )

        def changed(_kind: str, name: str) -> None:
            self.seen[name] = states()[name].message

        watching = asyncio.create_task(states.watch(changed), name="components")
        try:
            await eventually(lambda: len(self.seen) == 4)
            yield self
        finally:
            watching.cancel()
            await asyncio.wait([watching])
            await self.redis.aclose()


@pytest.mark.parametrize(
    ("change", "component", "message"),
    [
        (lambda it: it.readiness.wait_for("lease", "waiting"), "agent", "lease: waiting"),
        (lambda it: it.store.note([FULL]), "nats", "GT-a-b-CMD is 99% full (990 of 1000 bytes)"),
    ],
    ids=["readiness", "store"],
)
async def test_an_announced_change_is_reported(
    change: Callable[[Components], None], component: str, message: str
) -> None:
    async with Components().watched() as components:
        change(components)
        await eventually(lambda: components.seen[component] == message)


async def test_a_redis_that_does_not_answer_is_reported() -> None:
    async with Components().watched() as components:
        await components.redis.get(Digest("sha256:0"))
        await eventually(lambda: "unreachable" in components.seen["redis"])


async def test_a_lost_nats_is_reported_and_its_return_too(own_nats: Server) -> None:
    async with (
        Bus.open(settings_of(own_nats.url)) as bus,
        Components(buses=(bus, bus)).watched() as components,
    ):
        own_nats.kill()
        await eventually(lambda: "unreachable" in components.seen["nats"])
        await own_nats.start()
        await eventually(lambda: components.seen["nats"] == "")


async def test_the_end_of_the_watch_leaves_no_subscriber(own_nats: Server) -> None:
    async with Bus.open(settings_of(own_nats.url)) as bus:
        lost, back = list(bus.connection.on_lost), list(bus.connection.on_back)
        async with Components(buses=(bus,)).watched():
            assert bus.connection.on_lost != lost
        assert (bus.connection.on_lost, bus.connection.on_back) == (lost, back)
