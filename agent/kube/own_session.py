"""OwnClusterSession is the cluster that the agent runs in, as a destination."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from agent.kube.acting import client_as, writer_as
from agent.kube.client import KubeClient
from agent.kube.cluster import KubeCluster
from agent.kube.cluster_registry import OWN
from agent.kube.index import LiveIndex
from agent.kube.kube_request import Observer
from agent.kube.live import LiveCluster
from agent.kube.memory_budget import MemoryBudget
from agent.kube.write_fence import WriteFence
from handlers.application.destination import DestinationCluster, RegisteredCluster
from handlers.application.impersonation import ActingUser
from handlers.ports import ClusterWriter


@dataclass(slots=True, kw_only=True)
class OwnClusterSession:
    """Implements the port DestinationSession; its client and watches serve the agent itself too."""

    live: LiveCluster
    writer: KubeCluster
    client: KubeClient
    registered: RegisteredCluster = OWN
    may_be_own: bool = True

    @property
    def cluster(self) -> DestinationCluster:
        return self.registered.cluster

    def writer_as(self, user: ActingUser) -> ClusterWriter:
        return writer_as(self.writer, user)

    def client_as(self, user: ActingUser) -> KubeClient:
        return client_as(self.client, user)

    @property
    def cluster_uid(self) -> str:
        return self.client.known_uid


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSources:
    """What all sessions share."""

    new_index: Callable[[], LiveIndex]
    """Makes the empty index of a new contact."""
    own_uid: Callable[[], str]
    """The UID of the agent's own cluster, empty while it is not known."""
    observe: Observer | None = None
    fence: WriteFence = field(default_factory=WriteFence)
    """What may forbid writes to any cluster."""
    new_budget: Callable[[], MemoryBudget] = MemoryBudget
    """Makes the bounds of what a contact may keep."""
