"""How the connections of this agent stand: by the last fetch, and by our own API server."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from agent.git.credentials import SECRET_TYPE, Secret, problem_of
from agent.git.outcomes import FetchOutcomes
from agent.kube.live import Live
from agent.store.secrets import Secrets
from handlers.application.destination import (
    IN_CLUSTER_SERVER,
    DestinationError,
    canonical_server,
)
from handlers.report.items import FAILED, SUCCESSFUL, ConnectionState

_CLUSTER = "cluster"
_INTERRUPTED = "watches are interrupted: what is known of the cluster is of the past"


@dataclass(frozen=True, slots=True)
class ConnectionStates:
    outcomes: FetchOutcomes
    live: Live

    def of_repository(self, secret: Secret) -> ConnectionState | None:
        """Of a Secret for one repository or a prefix; one that cannot be used has failed."""
        problem = problem_of(secret)
        if problem:
            return ConnectionState(status=FAILED, message=problem)
        return self.outcomes.of(str(secret))

    def of_cluster(self, secret: Secret) -> ConnectionState | None:
        """None of another cluster than our own: this version uses none."""
        if not is_our_cluster(secret):
            return None
        if self.live.interrupted:
            return ConnectionState(status=FAILED, message=_INTERRUPTED)
        return ConnectionState(status=SUCCESSFUL)


def our_clusters(secrets: Secrets) -> Iterable[Secret]:
    return (secret for secret in secrets.all() if is_our_cluster(secret))


def is_our_cluster(secret: Secret) -> bool:
    if secret.labels.get(SECRET_TYPE) != _CLUSTER:
        return False
    try:
        return canonical_server(secret.data.get("server", "")) == IN_CLUSTER_SERVER
    except DestinationError:
        return False
