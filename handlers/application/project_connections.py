"""ProjectConnections: repositories and clusters that belong to one AppProject. Pure.

The Secret of a repository or cluster may name a project. The Applications of that project may then
use it without a rule of the project that permits it, as in Argo CD; what the project denies stays
denied. Each adds exactly its own address, never a pattern.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from handlers.application.application import AppProject, ProjectDestination
from handlers.application.destination import RegisteredCluster

_ALL = "*"


class ProjectConnections(msgspec.Struct, frozen=True, kw_only=True):
    """What the Secrets of one project add to it."""

    source_repos: tuple[str, ...] = ()
    destinations: tuple[ProjectDestination, ...] = ()

    def added_to(self, project: AppProject) -> AppProject:
        spec = replace(
            project.spec,
            source_repos=project.spec.source_repos + self.source_repos,
            destinations=project.spec.destinations + self.destinations,
        )
        return replace(project, spec=spec)

    def __add__(self, other: ProjectConnections) -> ProjectConnections:
        return ProjectConnections(
            source_repos=self.source_repos + other.source_repos,
            destinations=self.destinations + other.destinations,
        )


def of_repository(address: str) -> ProjectConnections:
    """`address` is canonical."""
    return ProjectConnections(source_repos=(address,))


def of_cluster(cluster: RegisteredCluster) -> ProjectConnections:
    """All namespaces, or those to which the cluster is limited."""
    server = cluster.cluster.server
    return ProjectConnections(
        destinations=tuple(
            ProjectDestination(server=server, namespace=namespace)
            for namespace in cluster.namespaces or (_ALL,)
        )
    )
