"""ClusterState: the indexes of the cluster that the agent is in, and a client to read more."""

from __future__ import annotations

from dataclasses import dataclass

from agent.kube.client import KubeClient
from agent.kube.live import LiveCluster
from agent.store.applications import Applications
from agent.store.argo_secrets import ArgoSecrets


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterState:
    """Reports follow the indexes, and tasks read and write by the client."""

    applications: Applications
    secrets: ArgoSecrets
    live: LiveCluster
    client: KubeClient
    namespace: str
    """The control namespace."""
