"""ConnectionStates: whether the last attempt reached a repository, or a cluster."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypedDict

from agent.git.credentials import SECRET_TYPE, Secret
from agent.git.fetch_outcomes import FetchOutcomes
from agent.git.repository_secrets import problem_of
from agent.kube.cluster_secret import identity_of
from agent.kube.cluster_session import ClusterSession
from agent.kube.clusters import ClusterSessions, Session
from agent.kube.live import LiveCluster
from agent.kube.session_state import SessionState
from agent.store.argo_secrets import ArgoSecrets
from bus.link.kinds import CLUSTER
from handlers.application.destination import (
    IN_CLUSTER_NAME,
    IN_CLUSTER_SERVER,
    DestinationError,
    canonical_server,
)
from handlers.report.connection_items import FAILED, SUCCESSFUL, UNKNOWN, ConnectionState

_INTERRUPTED = "watches are interrupted: the live state is out of date"
_UNUSED = "Cluster has no applications and is not being monitored."
_WORDS = {
    SessionState.CONNECTING: UNKNOWN,
    SessionState.SUCCESSFUL: SUCCESSFUL,
    SessionState.FAILED: FAILED,
}


@dataclass(frozen=True, slots=True)
class ConnectionStates:
    outcomes: FetchOutcomes
    clusters: ClusterSessions

    def of_repository(self, secret: Secret) -> ConnectionState | None:
        """State of a repository or a credential template; an unusable Secret counts as failed."""
        problem = problem_of(secret)
        if problem:
            return ConnectionState(status=FAILED, message=problem)
        return self.outcomes.of(str(secret))

    def of_cluster(self, secret: Secret) -> ConnectionState | None:
        """State of a cluster; one without Applications is not connected to."""
        if secret.labels.get(SECRET_TYPE) != CLUSTER.secret_type:
            return None
        if is_our_cluster(secret):
            live = self.clusters.own.live
            info = _facts(live, self._applications(self.clusters.own))
            if live.interrupted:
                return ConnectionState(status=FAILED, message=_INTERRUPTED, **info)
            return ConnectionState(status=SUCCESSFUL, **info)
        if problem := self.clusters.problem_of(str(secret)):
            return ConnectionState(status=FAILED, message=problem)
        session = self.clusters.of_server(identity_of(secret).server)
        if session is None or not (applications := self._applications(session)):
            return ConnectionState(status=UNKNOWN, message=_UNUSED)
        return ConnectionState(
            status=_WORDS[session.state],
            message=session.message,
            attempted_at=session.since.isoformat(timespec="seconds"),
            contact_at=_last_contact(session),
            **_facts(session.live if session.is_open else None, applications),
        )

    def _applications(self, session: Session) -> int:
        return len(self.clusters.users_of(session))


def _last_contact(session: ClusterSession) -> str:
    """When a cluster that fails could be used last: a time that stays until it is used again.

    One that moved with each probe would have to be reported with each probe.
    """
    failed = session.state is SessionState.FAILED
    return session.contact_at.isoformat(timespec="seconds") if failed and session.contact_at else ""


class _Facts(TypedDict):
    server_version: str
    objects: int
    applications: int


def _facts(live: LiveCluster | None, applications: int) -> _Facts:
    return _Facts(
        server_version=live.kube_version() if live else "",
        objects=len(live.index) if live else 0,
        applications=applications,
    )


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
