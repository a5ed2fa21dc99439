"""The parts of agent/kube put together for tests, as the agent's composition root does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from agent.kube.client import KubeClient, kube_client
from agent.kube.cluster import KubeCluster
from agent.kube.cluster_registry import ClusterRegistry
from agent.kube.clusters import ClusterSessions
from agent.kube.connection_config import connect
from agent.kube.health_overrides import HealthOverrides
from agent.kube.index import LiveIndex
from agent.kube.kube_request import Observer
from agent.kube.live import LiveCluster
from agent.kube.live_extent import LiveExtent
from agent.kube.own_session import OwnClusterSession, SessionSources
from bus.identity import ResourceKey

_PATIENCE = 120
_LOOK_EVERY = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeFixture:
    client: KubeClient
    live: LiveCluster
    cluster: KubeCluster

    def version(self, key: ResourceKey) -> str:
        found = self.live.get(key)
        return found.resource_version if found is not None else ""

    async def until(self, fact: Callable[[], bool]) -> None:
        await until(fact)


async def until(fact: Callable[[], bool]) -> None:
    async with asyncio.timeout(_PATIENCE):
        while not fact():  # noqa: ASYNC110  facts of a real cluster have no event
            await asyncio.sleep(_LOOK_EVERY)


@asynccontextmanager
async def opened(
    kubeconfig: Path,
    *,
    namespaces: tuple[str, ...] = (),
    observe: Observer | None = None,
    look_every: float = 60.0,
    overrides: HealthOverrides | None = None,
) -> AsyncIterator[KubeFixture]:
    connection = await connect(kubeconfig)
    async with kube_client(connection, observe=observe) as client:
        extent = LiveExtent(namespaces=namespaces, look_every=look_every)
        live = LiveCluster(client, LiveIndex("argocd", overrides), extent)
        yield KubeFixture(client=client, live=live, cluster=KubeCluster(client, live))


def own_cluster(client: KubeClient, live: LiveCluster) -> ClusterSessions:
    """The sessions of an agent that knows no cluster but its own."""
    return ClusterSessions(
        own=OwnClusterSession(live=live, writer=KubeCluster(client, live), client=client),
        sources=SessionSources(new_index=lambda: LiveIndex("argocd"), own_uid=lambda: ""),
        registry=ClusterRegistry,
        in_cluster_enabled=lambda: True,
    )


@asynccontextmanager
async def following(kube: KubeFixture) -> AsyncIterator[None]:
    """With its watches running and their first lists done."""
    task = asyncio.create_task(kube.live.run(), name="live state")
    try:
        async with asyncio.timeout(_PATIENCE):
            await kube.live.synced()
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])
