"""Which sync windows of an AppProject concern an Application, and what may be synced without them.

No schedule is read yet: whether a window is open just now is not known. What is certain all the
same: without a window that concerns the application everything is let through; with one, automated
syncs may be forbidden now, and syncs by hand are let through at any time only where every such
window has `manualSync`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from handlers.application.application import Application, AppProject
from handlers.application.globs import matches


def concerning(app: Application, project: AppProject) -> tuple[Mapping[str, Any], ...]:
    """Return the windows whose selectors match the application; one that is malformed matches."""
    return tuple(window for window in project.spec.sync_windows if _concerns(window, app))


def manual_sync_problem(app: Application, project: AppProject | None) -> str:
    """Say why not even a sync by hand may start; empty where one may."""
    closed = [] if project is None else [one for one in concerning(app, project) if _closed(one)]
    if project is None or not closed:
        return ""
    return (
        f"the AppProject {project.metadata.name} has {len(closed)} sync windows for this "
        "application that do not let syncs by hand through, and this version does not read their "
        "schedules: set manualSync: true on each of them, or remove them, to sync by hand"
    )


def _closed(window: Mapping[str, Any]) -> bool:
    return window.get("manualSync") is not True


def _concerns(window: Mapping[str, Any], app: Application) -> bool:
    """Any list that matches is enough; with `andOperator` each list that is given has to."""
    answers = list(_answers(window, app))
    if not answers:
        return False
    return all(answers) if window.get("andOperator") is True else any(answers)


def _answers(window: Mapping[str, Any], app: Application) -> Iterator[bool]:
    """The cluster is matched as the Application writes it."""
    destination = app.spec.destination
    subjects = {
        "applications": (app.metadata.name,),
        "namespaces": (destination.namespace,),
        "clusters": tuple(filter(None, (destination.server, destination.name))),
    }
    for field, words in subjects.items():
        globs = window.get(field)
        if globs:
            yield not isinstance(globs, list) or _any(globs, words)


def _any(globs: list[Any], words: tuple[str, ...]) -> bool:
    return any(matches(str(glob), word) for glob in globs for word in words)
