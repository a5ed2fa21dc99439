"""ClusterRegistry finds the cluster that a destination names, among the Secrets of clusters. Pure.

A server names one cluster. A name may stand in several Secrets; then it names none for certain, and
the error says which. The agent's own cluster needs no Secret; one that describes it gives it
another name or a project.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agent.kube.cluster_config import NO_PERMITS, ClusterSecretError, LoginPermits, SecretData
from agent.kube.cluster_secret import ClusterSecret, identity_of, read_cluster_secret
from handlers.application.destination import (
    IN_CLUSTER,
    IN_CLUSTER_SERVER,
    DestinationCluster,
    RegisteredCluster,
)
from handlers.ports import DestinationUnknownError

OWN = RegisteredCluster(cluster=IN_CLUSTER)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterEntry:
    """One Secret: its cluster, and how to connect, or why that cannot be read."""

    secret: str
    cluster: DestinationCluster
    usable: ClusterSecret | None = None
    problem: str = ""


class ClusterRegistry:
    def __init__(
        self, secrets: Iterable[SecretData] = (), permits: LoginPermits = NO_PERMITS
    ) -> None:
        self.unreadable: dict[str, str] = {}
        """Why no cluster can be read from a Secret, by its `namespace/name`."""
        self._by_server: dict[str, list[ClusterEntry]] = {}
        self._by_name: dict[str, list[ClusterEntry]] = {}
        for secret in sorted(secrets, key=lambda one: (one.namespace, one.name)):
            self._add(secret, permits)

    def _add(self, secret: SecretData, permits: LoginPermits) -> None:
        place = f"{secret.namespace}/{secret.name}"
        try:
            cluster = identity_of(secret)
        except ClusterSecretError as error:
            self.unreadable[place] = str(error)
            return
        try:
            entry = ClusterEntry(
                secret=place, cluster=cluster, usable=read_cluster_secret(secret, permits)
            )
        except ClusterSecretError as error:
            entry = ClusterEntry(secret=place, cluster=cluster, problem=str(error))
        self._by_server.setdefault(cluster.server, []).append(entry)
        self._by_name.setdefault(cluster.name, []).append(entry)

    def find(self, cluster: DestinationCluster) -> ClusterSecret | RegisteredCluster:
        """Find how to connect, or that it is the own cluster. Raises DestinationUnknownError."""
        server = cluster.server or self._server_of(cluster.name)
        entries = self._by_server.get(server, [])
        if server == IN_CLUSTER_SERVER:
            return _own(entries)
        if not entries:
            text = (
                f"spec.destination.server {server!r}: no cluster with this server is known; "
                f"expected a Secret labelled argocd.argoproj.io/secret-type: cluster in the "
                f"control namespace whose field server is {server!r}"
            )
            raise DestinationUnknownError(text, gone=not self.unreadable)
        return _usable(_only(entries, f"server {server!r}"))

    def problem_of(self, secret: str) -> str:
        """Why the Secret (`namespace/name`) is of no use; empty where it is."""
        if secret in self.unreadable:
            return self.unreadable[secret]
        entries = (one for some in self._by_server.values() for one in some)
        return next((one.problem for one in entries if one.secret == secret), "")

    def _server_of(self, name: str) -> str:
        entries = self._by_name.get(name, [])
        if not entries:
            text = (
                f"spec.destination.name {name!r}: no cluster of this name is known; expected a "
                f"Secret labelled argocd.argoproj.io/secret-type: cluster in the control namespace "
                f"whose field name is {name!r}"
            )
            raise DestinationUnknownError(text, gone=not self.unreadable)
        return _only(entries, f"name {name!r}").cluster.server


def _only(entries: Sequence[ClusterEntry], what: str) -> ClusterEntry:
    if len(entries) == 1:
        return entries[0]
    named = ", ".join(one.secret for one in entries)
    raise DestinationUnknownError(
        f"spec.destination: {len(entries)} Secrets describe a cluster with the {what}: {named}; "
        "expected one: remove or rename the others"
    )


def _usable(entry: ClusterEntry) -> ClusterSecret:
    if entry.usable is None:
        text = f"the cluster {entry.cluster.name!r} cannot be connected to: {entry.problem}"
        raise DestinationUnknownError(text)
    return entry.usable


def _own(entries: Sequence[ClusterEntry]) -> RegisteredCluster:
    """Read a Secret of the own cluster, which may name it but not log in to it.

    The agent would act there with its own rights, which are perhaps wider than those of the login.
    """
    if not entries:
        return OWN
    usable = _usable(_only(entries, f"server {IN_CLUSTER_SERVER!r}"))
    if usable.has_login:
        raise DestinationUnknownError(
            f"Secret {usable.secret}, field config: it has a login for the agent's own cluster, "
            "where the agent acts with its own rights; remove the login, or describe the cluster by"
            " an address other than its in-cluster one"
        )
    return usable.registered
