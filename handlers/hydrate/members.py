"""The Applications of a branch, and which of them claim a folder that another one has. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from bus.identity import AppKey, HydratedBranch, RepositoryKey
from handlers.application.application import Application, AppProject
from handlers.application.project import admits, source_permitted
from handlers.application.source_hydrator import hydrated_branch, hydrated_folder

Folder = tuple[RepositoryKey, str, str]
"""Repository, branch and path."""


def members_of(
    apps: Iterable[Application], branch: HydratedBranch, project: AppProject | None
) -> Sequence[Application]:
    """List the Applications of a branch by age, then by name: those that their project permits.

    The others are refused by `validate`, and hold nobody up.
    """
    mine = (app for app in apps if hydrated_branch(app) == branch and not app.is_skipped)
    return sorted((app for app in mine if may_hydrate(app, project)), key=_age)


def may_hydrate(app: Application, project: AppProject | None) -> bool:
    if project is None or app.deleting or not admits(project, app.key.namespace):
        return False
    return all(source_permitted(project, one) for one in app.followed_sources)


def folder_of(app: Application) -> Folder | None:
    branch, hydrator = hydrated_branch(app), app.spec.source_hydrator
    if branch is None or hydrator is None:
        return None
    return (branch.repository, branch.branch, hydrated_folder(hydrator))


def claimed_folders(
    members: Sequence[Application],
    apps: Iterable[Application],
    project_of: Callable[[str], AppProject | None],
) -> Mapping[AppKey, str]:
    """Say of each member whose folder an older Application has, of any project, that it does."""
    folders = {one for app in members if (one := folder_of(app)) is not None}
    holders: dict[Folder, Application] = {}
    for app in apps:
        folder = folder_of(app)
        if folder in folders and folder is not None and may_hydrate(app, project_of(_project(app))):
            holders[folder] = min(holders.get(folder, app), app, key=_age)
    found: dict[AppKey, str] = {}
    for app in members:
        folder = folder_of(app)
        holder = holders.get(folder, app) if folder is not None else app
        if folder is not None and holder.key != app.key:
            same = _project(holder) == _project(app)
            name = f"the Application {holder.key}" if same else "an Application of another project"
            found[app.key] = (
                f"{folder[0]} branch {folder[1]!r}: the folder {folder[2]!r} is written by {name}; "
                "expected a folder of its own: change spec.sourceHydrator.syncSource.path"
            )
    return found


def _project(app: Application) -> str:
    return app.spec.project or "default"


def _age(app: Application) -> tuple[str, AppKey]:
    return (app.metadata.creation_timestamp, app.key)
