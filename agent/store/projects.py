"""Projects is the index of AppProjects: each as it is written, and with what is global for it.

Which projects are global is a setting of `argocd-cm`. The result is kept until a project or the
setting changes, because every step of every application asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from handlers.application.application import AppProject
from handlers.application.global_projects import GlobalProject, with_global_projects
from handlers.application.project import DEFAULT_PROJECT
from handlers.application.project_connections import ProjectConnections

Entries = tuple[GlobalProject, ...]


def _none() -> Entries:
    return ()


def _no_connections(_project: str) -> ProjectConnections:
    return ProjectConnections()


class Projects:
    def __init__(
        self,
        entries: Callable[[], Entries] = _none,
        namespace: str = "",
        connections: Callable[[str], ProjectConnections] = _no_connections,
    ) -> None:
        """`namespace`: of the AppProjects, so that one that is not written admits no other.

        `connections` finds what Secrets of repositories and clusters add to a project.
        """
        self._entries = entries
        self._connections = connections
        metadata = replace(DEFAULT_PROJECT.metadata, namespace=namespace)
        self._default = replace(DEFAULT_PROJECT, metadata=metadata)
        self._written: dict[str, AppProject] = {}
        self._effective: dict[str, AppProject] = {}
        self._made_with: Entries = ()

    def written(self) -> Sequence[AppProject]:
        """List the projects as they are in the cluster."""
        return tuple(self._written.values())

    def names(self) -> set[str]:
        return set(self._written)

    def is_global(self, name: str) -> bool:
        """Whether the rules of this project may hold in others."""
        return any(one.project_name == name for one in self._entries())

    def get(self, name: str) -> AppProject | None:
        """Find a project with what is global for it; `default` exists always."""
        entries = self._entries()
        if entries != self._made_with:
            self._effective.clear()
            self._made_with = entries
        known = self._effective.get(name)
        if known is None and (written := self._find(name)) is not None:
            own = self._connections(name).added_to(written)
            known = self._effective[name] = with_global_projects(own, entries, self._find)
        return known

    def connections_changed(self, name: str) -> None:
        """Read again what Secrets add to this project."""
        self._effective.pop(name, None)

    def put(self, project: AppProject) -> AppProject | None:
        """Keep a project; return the one that it replaces."""
        self._effective.clear()
        before = self._written.get(project.metadata.name)
        self._written[project.metadata.name] = project
        return before

    def remove(self, name: str) -> AppProject | None:
        self._effective.clear()
        return self._written.pop(name, None)

    def _find(self, name: str) -> AppProject | None:
        return self._written.get(name) or (self._default if name == "default" else None)
