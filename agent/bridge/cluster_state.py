"""ClusterState: the indexes of the control namespace and of all clusters, with their clients."""

from __future__ import annotations

from dataclasses import dataclass

from agent.kube.client import KubeClient
from agent.kube.clusters import ClusterSessions
from agent.kube.live import LiveCluster
from agent.store.applications import Applications
from agent.store.argo_secrets import ArgoSecrets


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterState:
    """Reports follow the indexes, and tasks read and write by the client."""

    applications: Applications
    secrets: ArgoSecrets
    live: LiveCluster
    """Of the cluster that the agent is in."""
    client: KubeClient
    """Likewise."""
    clusters: ClusterSessions
    namespace: str
    """The control namespace."""
