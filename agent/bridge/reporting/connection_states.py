"""ConnectionStates: whether the last attempt reached a repository, or our own cluster."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from agent.git.credentials import SECRET_TYPE, Secret, problem_of
from agent.git.fetch_outcomes import FetchOutcomes
from agent.kube.live import LiveCluster
from agent.store.argo_secrets import ArgoSecrets
from bus.link.kinds import CLUSTER
from handlers.application.destination import (
    IN_CLUSTER_NAME,
    IN_CLUSTER_SERVER,
    DestinationError,
    canonical_server,
)
from handlers.report.connection_items import FAILED, SUCCESSFUL, ConnectionState

_INTERRUPTED = "watches are interrupted: the live state is out of date"


@dataclass(frozen=True, slots=True)
class ConnectionStates:
    outcomes: FetchOutcomes
    live: LiveCluster

    def of_repository(self, secret: Secret) -> ConnectionState | None:
        """State of a repository or a credential template; an unusable Secret counts as failed."""
        problem = problem_of(secret)
        if problem:
            return ConnectionState(status=FAILED, message=problem)
        return self.outcomes.of(str(secret))

    def of_cluster(self, secret: Secret) -> ConnectionState | None:
        """State of our own cluster; None for any other, because this version connects to none."""
        if not is_our_cluster(secret):
            return None
        if self.live.interrupted:
            return ConnectionState(status=FAILED, message=_INTERRUPTED)
        return ConnectionState(status=SUCCESSFUL)


def our_clusters(secrets: ArgoSecrets, namespace: str) -> Iterable[Secret]:
    """The Secrets of our own cluster, and last the implicit one that counts if there are none."""
    yield from (secret for secret in secrets.all() if is_our_cluster(secret))
    yield own_cluster(namespace)


def own_cluster(namespace: str) -> Secret:
    """The agent's own cluster as a Secret would describe it; no such Secret exists."""
    return Secret(
        namespace=namespace,
        name=IN_CLUSTER_NAME,
        labels={SECRET_TYPE: CLUSTER.secret_type},
        data={"name": IN_CLUSTER_NAME, "server": IN_CLUSTER_SERVER},
    )


def is_our_cluster(secret: Secret) -> bool:
    if secret.labels.get(SECRET_TYPE) != CLUSTER.secret_type:
        return False
    try:
        return canonical_server(secret.data.get("server", "")) == IN_CLUSTER_SERVER
    except DestinationError:
        return False
