"""Refusals: rendered objects that the AppProjects among the inputs forbid. Pure.

Rendering asks no cluster, so it knows no project. Where the AppProject is handed in with the
Application, its rules are checked before the agent does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from bus.identity import ResourceKey
from cli.local.inputs import InputDocument, InputError
from handlers.application.application import Application, AppProject
from handlers.application.denials import denial_of
from handlers.application.unknown_fields import unknown_fields
from handlers.application.validate import problems
from handlers.manifest import access
from handlers.manifest.kinds import GroupKind

Projects = Mapping[str, AppProject]

_PROJECT = GroupKind("argoproj.io", "AppProject")


class ProjectRefusals(msgspec.Struct, frozen=True, kw_only=True):
    of_app: tuple[str, ...] = ()
    """Of its source, its destination, its namespace: nothing of it would be deployed."""
    of_objects: Mapping[ResourceKey, str] = {}

    def of(self, manifest: Mapping[str, Any]) -> list[str]:
        """List the refusals of one object."""
        own = self.of_objects.get(access.key(manifest))
        return [*self.of_app, *([own] if own else ())]

    @property
    def all(self) -> list[str]:
        named = (f"{key.kind} {key.name}: {why}" for key, why in self.of_objects.items())
        return [*self.of_app, *named]


def ignored(document: InputDocument) -> list[str]:
    """List the fields of an Application or AppProject that the agent ignores, a sentence each."""
    kind = GroupKind.of(document.manifest)
    found = unknown_fields(kind.kind, document.manifest) if kind.group == _PROJECT.group else ()
    return [f"{document.location}: {one.message}" for one in found]


def is_project(document: InputDocument) -> bool:
    return GroupKind.of(document.manifest) == _PROJECT


def projects_of(documents: Iterable[InputDocument]) -> tuple[Projects, list[InputError]]:
    """Read AppProjects by name, with the errors of those that cannot be read."""
    found: dict[str, AppProject] = {}
    bad: list[InputError] = []
    for document in documents:
        if not is_project(document):
            continue
        try:
            project = msgspec.convert(document.manifest, AppProject)
        except msgspec.ValidationError as e:
            place = f"{document.file}, document {document.number}"
            bad.append(InputError(f"{place}: {e}", file=document.file, document=document.number))
        else:
            found[project.metadata.name] = project
    return found, bad


def refusals(
    app: Application, projects: Projects, objects: Sequence[Mapping[str, Any]]
) -> ProjectRefusals | None:
    """List the refusals by object; None where the Application's project is not among the inputs."""
    project = projects.get(app.spec.project or "default")
    if project is None:
        return None
    there = app.spec.destination
    keys = (access.key(one) for one in objects)
    denied = {key: denial_of(project, key, there) for key in keys}
    return ProjectRefusals(
        of_app=tuple(one.message for one in problems(app, project)),
        of_objects={key: why for key, why in denied.items() if why},
    )
