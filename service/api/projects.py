"""Projects: whose applications are whose. A project holds Argo CD projects, by their names.

Which applications a project holds is the base of what its people may see. So making one, or
changing what it holds, needs access_edit in the whole account, and no name is held twice.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from sqlalchemy import ColumnElement, RowMapping, Text, cast, false, func, or_, select, true
from sqlalchemy.dialects.postgresql import ARRAY

from service.access.permissions import Permission
from service.api import rows, versions
from service.api.call import Call
from service.api.endpoint import Answer, Endpoint, Given, Nothing, Open
from service.api.fields import Id, Name, Version
from service.api.fields import Text as ShortText
from service.api.pages import Order, Page, PageQuery, rows_of
from service.api.problem import DeniedError, ProblemError
from service.api.versioned import Versioned, shown
from service.store.tables import organisations, projects

EDIT = Permission.ACCESS_EDIT
NOUN = Versioned(table=projects, word="project", what="project")
AppProjects = Annotated[tuple[Name, ...], msgspec.Meta(max_length=200)]


class ProjectsQuery(PageQuery, frozen=True, kw_only=True):
    organisation: Id = ""


class NewProject(Given, frozen=True, kw_only=True):
    organisation: Id
    name: Name
    display_name: ShortText = ""
    app_projects: AppProjects = ()
    """Argo CD projects; empty: the one of the same name."""


class ProjectChange(Given, frozen=True, kw_only=True):
    display_name: ShortText | msgspec.UnsetType = msgspec.UNSET
    app_projects: AppProjects | msgspec.UnsetType = msgspec.UNSET
    version: Version | None = None


class Project(Answer, frozen=True, kw_only=True):
    id: str
    organisation: str
    name: str
    display_name: str
    app_projects: list[str]
    version: int
    created_at: str | None


async def list_projects(call: Call, given: ProjectsQuery) -> Page[Project]:
    """Those one was given anything in."""
    query = select(projects).where(projects.c.account_id == call.account, _reached(call))
    if given.organisation:
        query = query.where(projects.c.organisation_id == given.organisation)
    order = Order(columns=(projects.c.name, projects.c.id))
    found = await rows_of(call.connection, query, order, given, f"{call.account}/projects")
    return Page(items=[_project(row) for row in found.rows], next=found.next)


async def get_project(call: Call, _given: Nothing) -> Project:
    """One project."""
    return _project(await _find(call))


async def create_project(call: Call, given: NewProject) -> Project:
    """Make one in an organisation."""
    await rows.referred(call, organisations, given.organisation, "organisation")
    rows.require_account(call, EDIT, f"project {given.name}")
    await _check_claims(call, "", given.app_projects or (given.name,))
    values = {
        "name": given.name,
        "display_name": given.display_name,
        "app_projects": list(given.app_projects),
    }
    row = await NOUN.create(call, values, organisation_id=given.organisation)
    return _project(row)


async def change_project(call: Call, given: ProjectChange) -> Project:
    """Change what people read, or which Argo CD projects it holds."""
    row = await _find(call)
    call.require(EDIT, rows.project_place(row), f"project {row['name']}")
    before = await NOUN.locked(call)
    values = versions.values_of(given)
    if "app_projects" in values:
        rows.require_account(call, EDIT, f"project {row['name']}")
        values["app_projects"] = list(values["app_projects"])
        await _check_claims(call, row["id"], values["app_projects"] or (row["name"],))
    return _project(await NOUN.change(call, before, values, given.version))


async def delete_project(call: Call, _given: Nothing) -> None:
    """Delete it and its bindings; applications stay where they are."""
    row = await _find(call)
    rows.require_account(call, EDIT, f"project {row['name']}")
    await versions.check_empty(call, "project", project_id=row["id"])
    await NOUN.delete(call, row)


async def _check_claims(call: Call, own: str, names: tuple[str, ...] | list[str]) -> None:
    """The account's other projects hold none of these, neither listed nor by name."""
    wanted = cast(list(names), ARRAY(Text))
    listed = cast(projects.c.app_projects, ARRAY(Text))
    held = or_(
        listed.op("&&")(wanted),
        (func.cardinality(projects.c.app_projects) == 0) & projects.c.name.in_(names),
    )
    query = (
        select(projects.c.name)
        .where(projects.c.account_id == call.account, projects.c.id != own, held)
        .limit(1)
    )
    other = await call.connection.scalar(query)
    if other is not None:
        raise ProblemError(
            409,
            f"project {other} already has one of these AppProjects",
            field="appProjects",
            rule="held-once",
            remedy="List other Argo CD projects in appProjects, or change the other project first.",
        )


async def _find(call: Call) -> RowMapping:
    row = await NOUN.one(call)
    seen = select(projects.c.id).where(projects.c.id == row["id"], _reached(call))
    if await call.connection.scalar(seen) is None:
        raise DeniedError(Permission.ACCESS_VIEW, f"project {call.id}", status=404)
    return row


def _reached(call: Call) -> ColumnElement[bool]:
    scopes = [it.scope for it in call.caller.bindings if it.permissions]
    if any(not (it.organisation or it.project) for it in scopes):
        return true()
    return or_(
        false(),
        projects.c.id.in_([it.project for it in scopes if it.project]),
        projects.c.organisation_id.in_(
            [it.organisation for it in scopes if it.organisation and not it.project]
        ),
    )


def _project(row: RowMapping) -> Project:
    return shown(Project, row, organisation=row["organisation_id"])


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/projects",
        needs=Open.LOGGED_IN,
        handler=list_projects,
        takes=ProjectsQuery,
        gives=Page[Project],
    ),
    Endpoint(
        method="POST",
        path="/projects",
        needs=EDIT,
        handler=create_project,
        takes=NewProject,
        gives=Project,
        status=201,
    ),
    Endpoint(
        method="GET",
        path="/projects/{id}",
        needs=Open.LOGGED_IN,
        handler=get_project,
        gives=Project,
    ),
    Endpoint(
        method="PATCH",
        path="/projects/{id}",
        needs=EDIT,
        handler=change_project,
        takes=ProjectChange,
        gives=Project,
    ),
    Endpoint(method="DELETE", path="/projects/{id}", needs=EDIT, handler=delete_project),
)
