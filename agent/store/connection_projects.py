"""ConnectionProjects follows which repositories and clusters belong to which AppProject.

A Secret that came over the link adds nothing to a project: what a project permits is decided in the
cluster. Neither does one that cannot be read, or whose address could be read as a pattern. Earlier
versions did not mark what they made for the link, so a name such as they gave counts as the mark.
"""

from __future__ import annotations

import re
from functools import reduce
from operator import add

from agent.git.credentials import SECRET_TYPE, Secret
from agent.git.repository_secrets import address_of
from agent.kube.cluster_config import ClusterSecretError
from agent.kube.cluster_secret import registered_of
from agent.subscribers import Subscribers
from bus.link.kinds import CLUSTER, REPOSITORY
from bus.repository_url import RepositoryUrlError
from handlers.application.project_connections import ProjectConnections, of_cluster, of_repository

_PATTERN = frozenset("*?[]{}!\\")
_MADE_OVER_LINK = re.compile(rf"(?:{REPOSITORY.secret_type}|{CLUSTER.secret_type})-[a-z2-7]{{16}}")
"""The name that a put over the link gives: the type, and `token_of` what it identifies."""
_NOTHING = ProjectConnections()


class ConnectionProjects:
    def __init__(self) -> None:
        self.changes = Subscribers[[str]]()
        """Called with the name of a project to which something was added, or taken away."""
        self._known: dict[str, tuple[str, ProjectConnections]] = {}
        """Project and addition, by Secret."""

    def of(self, project: str) -> ProjectConnections:
        found = (addition for name, addition in self._known.values() if name == project)
        return reduce(add, found, _NOTHING)

    def note(self, secret: Secret, *, present: bool) -> None:
        """Note a Secret that came, changed or went."""
        before = self._known.pop(secret.name, None)
        project = secret.data.get("project", "").strip()
        counts = present and project and not _is_of_link(secret)
        addition = _addition(secret) if counts else _NOTHING
        after = (project, addition) if addition != _NOTHING else None
        if after is not None:
            self._known[secret.name] = after
        if before != after:
            for name in {one[0] for one in (before, after) if one is not None}:
                self.changes.notify(name)


def _is_of_link(secret: Secret) -> bool:
    return secret.governed or _MADE_OVER_LINK.fullmatch(secret.name) is not None


def _addition(secret: Secret) -> ProjectConnections:
    kind = secret.labels.get(SECRET_TYPE)
    try:
        if kind == REPOSITORY.secret_type:
            address = str(address_of(secret.data))
            return _NOTHING if _PATTERN.intersection(address) else of_repository(address)
        if kind == CLUSTER.secret_type:
            cluster = registered_of(secret)
            words = (cluster.cluster.server, *cluster.namespaces)
            return _NOTHING if any(map(_PATTERN.intersection, words)) else of_cluster(cluster)
    except (RepositoryUrlError, ClusterSecretError):
        return _NOTHING
    return _NOTHING
