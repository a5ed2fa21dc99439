"""KnownClusters: what a write over the link may not do with the Secrets of clusters. Pure.

An Application that names its cluster goes where the Secret with that name points, whoever wrote the
Application. So a control plane neither moves a name nor takes one that is in use, and it puts no
server that the policy of the cluster's owner does not name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent.bridge.tasks.executors.connection_secret import TYPES, cluster_name
from agent.bridge.tasks.task_context import TaskFailedError
from agent.git.credentials import SECRET_TYPE, Secret
from bus.identity import AppKey
from bus.link.kinds import CLUSTER
from handlers.application.destination import IN_CLUSTER_NAME, DestinationCluster
from handlers.application.spec import Destination
from handlers.control_plane.policy import ControlPlanePolicy

_MOST_NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownClusters:
    """Everything that a write is held against, at one moment. Its checks raise TaskFailedError."""

    secrets: Sequence[Secret]
    """Of Argo CD's formats, of any kind."""
    destinations: Mapping[AppKey, Destination]
    """Where each Application is deployed."""
    policy: ControlPlanePolicy

    def check_server(self, server: str) -> None:
        """Check that a cluster with this canonical server may be put."""
        if problem := self.policy.cluster_problem(DestinationCluster.at(server)):
            text = f"{problem}: its owner may name it there, or write the Secret of the cluster"
            raise TaskFailedError("not_allowed", text)

    def check_new(self, server: str, name: str) -> None:
        """Check that a Secret may be made for the server, under the name that was asked for."""
        chosen = cluster_name({"server": server, "name": name})
        if chosen == IN_CLUSTER_NAME:
            text = f"{chosen!r} is the name of the agent's own cluster: choose another name"
            raise TaskFailedError("not_allowed", text)
        for secret in self._secrets():
            if cluster_name(secret.data) == chosen:
                text = f"Secret {secret} describes a cluster named {chosen!r}: choose another name"
                raise TaskFailedError("conflict", text)
        users = [app for app, there in self.destinations.items() if there.name.strip() == chosen]
        if users:
            text = (
                f"{_listed(users)} would be deployed to {server}, for the name {chosen!r} is in"
                " spec.destination.name: choose another name, or have the owner of the cluster"
                " write its Secret"
            )
            raise TaskFailedError("not_allowed", text)

    def _secrets(self) -> Sequence[Secret]:
        wanted = TYPES[CLUSTER.name]
        return [one for one in self.secrets if one.labels.get(SECRET_TYPE) == wanted]


def _listed(apps: Sequence[AppKey]) -> str:
    first = ", ".join(str(app) for app in sorted(apps)[:_MOST_NAMED])
    more = len(apps) - _MOST_NAMED
    return f"{first} and {more} more" if more > 0 else first
