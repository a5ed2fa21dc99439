"""What the agent would refuse of what was rendered, by the AppProjects among the inputs. Pure.

Rendering asks no cluster and so knows no project; but who hands its AppProject in with the
Application wants to hear of its rules before the agent says it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from bus.identity import ResourceKey
from cli.inputs import Document, InputError
from handlers.application.application import Application, AppProject
from handlers.application.denials import denial_of
from handlers.application.validate import problems
from handlers.manifest import access
from handlers.manifest.kinds import GroupKind

Projects = Mapping[str, AppProject]

_PROJECT = GroupKind("argoproj.io", "AppProject")


class Refusals(msgspec.Struct, frozen=True, kw_only=True):
    of_app: tuple[str, ...] = ()
    """Of its source, its destination, its namespace: nothing of it would be deployed."""
    of_objects: Mapping[ResourceKey, str] = {}

    def of(self, manifest: Mapping[str, Any]) -> list[str]:
        """What stands against one object."""
        own = self.of_objects.get(access.key(manifest))
        return [*self.of_app, *([own] if own else ())]

    @property
    def all(self) -> list[str]:
        named = (f"{key.kind} {key.name}: {why}" for key, why in self.of_objects.items())
        return [*self.of_app, *named]


def is_project(document: Document) -> bool:
    return GroupKind.of(document.manifest) == _PROJECT


def projects_of(documents: Iterable[Document]) -> tuple[Projects, list[InputError]]:
    """By name, and why some cannot be read."""
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
) -> Refusals | None:
    """None where its project is not among the inputs: nobody knows."""
    project = projects.get(app.spec.project or "default")
    if project is None:
        return None
    there = app.spec.destination
    keys = (access.key(one) for one in objects)
    denied = {key: denial_of(project, key, there) for key in keys}
    return Refusals(
        of_app=tuple(one.message for one in problems(app, project)),
        of_objects={key: why for key, why in denied.items() if why},
    )
