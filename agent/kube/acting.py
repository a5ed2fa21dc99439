"""Acting: the writer and the client of a cluster, as the user that an Application acts as."""

from __future__ import annotations

from agent.kube.client import KubeClient
from agent.kube.cluster import KubeCluster
from agent.kube.errors import ForbiddenError
from agent.kube.refused_writer import RefusedWriter
from handlers.application.impersonation import ActingUser
from handlers.ports import ClusterWriter


def writer_as(writer: KubeCluster, user: ActingUser) -> ClusterWriter:
    if user.problem:
        return RefusedWriter(user.problem, writer.live)
    return writer.acting_as(user.name) if user.name else writer


def client_as(client: KubeClient, user: ActingUser) -> KubeClient:
    """Raises ForbiddenError where there is no account to act as."""
    if user.problem:
        raise ForbiddenError(user.problem, code=403, permanent=True)
    return client.acting_as(user.name) if user.name else client
