"""SessionContact is what a session has of its cluster while the API server answers."""

from __future__ import annotations

from dataclasses import dataclass

from agent.kube.client import KubeClient
from agent.kube.cluster import KubeCluster
from agent.kube.index import LiveIndex
from agent.kube.live import LiveCluster
from agent.kube.live_extent import LiveExtent
from handlers.application.destination import RegisteredCluster


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionContact:
    client: KubeClient
    live: LiveCluster
    writer: KubeCluster


def contact_of(
    client: KubeClient, index: LiveIndex, registered: RegisteredCluster
) -> SessionContact:
    extent = LiveExtent(
        namespaces=registered.namespaces,
        cluster_resources=registered.cluster_resources,
        freeze=False,
    )
    live = LiveCluster(client, index, extent)
    return SessionContact(client=client, live=live, writer=KubeCluster(client, live))
