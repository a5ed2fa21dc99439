"""KnownClusters: what a write over the link may not do with the Secrets of clusters. Pure.

An Application that names its cluster goes where the Secret with that name points, whoever wrote the
Application. So a control plane neither moves a name nor takes one that is in use, and it puts no
server that the policy of the cluster's owner does not name. Two Secrets for one server make it
unknown, and a Secret that goes takes its limits along: so there is one for a server, none for the
agent's own cluster, and what is deleted was made over the link, has nothing of the owner, and is in
nobody's use.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent.bridge.tasks.executors.connection_secret import (
    TYPES,
    canonical_or_empty,
    cluster_name,
    fields_of_owner,
)
from agent.bridge.tasks.task_context import TaskFailedError
from agent.git.credentials import SECRET_TYPE, Secret
from bus.identity import AppKey
from bus.link.kinds import CLUSTER
from handlers.application.destination import (
    IN_CLUSTER_NAME,
    IN_CLUSTER_SERVER,
    DestinationCluster,
)
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
        if server == IN_CLUSTER_SERVER:
            text = (
                f"{server} is the agent's own cluster: it needs no Secret, its owner may write one"
            )
            raise TaskFailedError("not_allowed", text)
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
            if canonical_or_empty(secret.data.get("server", "")) == server:
                text = (
                    f"Secret {secret} describes the cluster {server} already, and a second one"
                    " would make it unknown: change that one, with the project that it has"
                )
                raise TaskFailedError("conflict", text)
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

    def check_deletion(self, secret: str, data: Mapping[str, str], *, over_link: bool) -> None:
        """Check that a Secret with this data may be deleted; `over_link`: it was made there."""
        if not over_link:
            text = (
                f"Secret {secret} was not made over the link: the owner of the cluster deletes it"
            )
            raise TaskFailedError("not_allowed", text)
        if fields := fields_of_owner(data):
            text = (
                f"Secret {secret} has {', '.join(fields)}, which a Secret put in its place would"
                " lack: the owner of the cluster removes these fields or deletes the Secret"
            )
            raise TaskFailedError("not_allowed", text)
        name, server = cluster_name(data), canonical_or_empty(data.get("server", ""))
        users = [
            app
            for app, there in self.destinations.items()
            if there.name.strip() == name or (server and canonical_or_empty(there.server) == server)
        ]
        if users:
            text = (
                f"Secret {secret} describes the cluster of {_listed(users)}: delete these"
                " Applications, or give them another destination, first"
            )
            raise TaskFailedError("conflict", text)

    def _secrets(self) -> Sequence[Secret]:
        wanted = TYPES[CLUSTER.name]
        return [one for one in self.secrets if one.labels.get(SECRET_TYPE) == wanted]


def _listed(apps: Sequence[AppKey]) -> str:
    first = ", ".join(str(app) for app in sorted(apps)[:_MOST_NAMED])
    more = len(apps) - _MOST_NAMED
    return f"{first} and {more} more" if more > 0 else first
