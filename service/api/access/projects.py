"""Projects: which applications belong together, by the AppProjects that each project names.

A project decides what its people may see. Creating one, or changing its AppProjects, therefore
needs access_edit in the whole account, and no AppProject belongs to two projects.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from sqlalchemy import ColumnElement, Text, cast, false, func, or_, select, true
from sqlalchemy.dialects.postgresql import ARRAY

from service.access.decision import ResourceScope
from service.access.permissions import Permission
from service.api.access.organisations import OrganisationRow
from service.http import crud, versioned
from service.http.call import ApiCall
from service.http.crud import CrudHandlers, CrudNoun
from service.http.endpoint import NoInput, OpenAccess, RequestModel, ResponseModel
from service.http.fields import Id, Name, Version
from service.http.fields import Text as ShortText
from service.http.pages import Page, PagedList, PageOrder, PageQuery, read_page
from service.http.problem import DeniedError, ProblemError
from service.http.versioned import VersionedNoun, VersionedRow, shown
from service.store.tables import organisations, projects

EDIT = Permission.ACCESS_EDIT


class ProjectRow(VersionedRow, frozen=True, kw_only=True):
    organisation_id: str
    display_name: str
    app_projects: list[str]


NOUN = VersionedNoun(table=projects, row=ProjectRow, word="project", what="project")
AppProjects = Annotated[tuple[Name, ...], msgspec.Meta(max_length=200)]


class ProjectsQuery(PageQuery, frozen=True, kw_only=True):
    organisation: Id = ""


class NewProject(RequestModel, frozen=True, kw_only=True):
    organisation: Id
    name: Name
    display_name: ShortText = ""
    app_projects: AppProjects = ()
    """Argo CD projects; empty: the one of the same name."""


class ProjectChange(RequestModel, frozen=True, kw_only=True):
    display_name: ShortText | msgspec.UnsetType = msgspec.UNSET
    app_projects: AppProjects | msgspec.UnsetType = msgspec.UNSET
    version: Version | None = None


class Project(ResponseModel, frozen=True, kw_only=True):
    id: str
    organisation: str
    name: str
    display_name: str
    app_projects: list[str]
    version: int
    created_at: str


async def list_projects(call: ApiCall, params: ProjectsQuery) -> Page[Project]:
    """List the projects in which the caller holds a role."""
    query = select(projects).where(projects.c.account_id == call.account, _reached(call))
    if params.organisation:
        query = query.where(projects.c.organisation_id == params.organisation)
    paged = PagedList(
        name=f"{call.account}/projects",
        order=PageOrder(columns=(projects.c.name, projects.c.id)),
        into=ProjectRow,
    )
    found = await read_page(call.connection, query, params, paged)
    return found.page(_project)


async def get_project(call: ApiCall, _params: NoInput) -> Project:
    """Get one project."""
    return _project(await _find(call))


async def create_project(call: ApiCall, params: NewProject) -> Project:
    """Create a project in an organisation."""
    await crud.referred(call, organisations, params.organisation, "organisation", OrganisationRow)
    crud.require_account(call, EDIT, f"project {params.name}")
    await _check_claims(call, "", params.app_projects or (params.name,))
    values = {
        "name": params.name,
        "display_name": params.display_name,
        "app_projects": list(params.app_projects),
    }
    row = await NOUN.create(call, values, organisation_id=params.organisation)
    return _project(row)


async def change_project(call: ApiCall, params: ProjectChange) -> Project:
    """Change the display name of a project, or the AppProjects that it holds."""
    row = await _find(call)
    call.require(EDIT, project_scope(row), f"project {row.name}")
    before = await NOUN.locked(call)
    values = versioned.values_of(params)
    if "app_projects" in values:
        crud.require_account(call, EDIT, f"project {row.name}")
        values["app_projects"] = list(values["app_projects"])
        await _check_claims(call, row.id, values["app_projects"] or (row.name,))
    return _project(await NOUN.change(call, before, values, params.version))


async def delete_project(call: ApiCall, _params: NoInput) -> None:
    """Delete a project and its bindings; its applications stay."""
    row = await _find(call)
    crud.require_account(call, EDIT, f"project {row.name}")
    await versioned.check_empty(call, "project", project_id=row.id)
    await NOUN.delete(call, row)


def project_scope(row: ProjectRow) -> ResourceScope:
    """Make the scope of a project, which lies in its organisation."""
    return ResourceScope(
        organisations=frozenset([row.organisation_id]), projects=frozenset([row.id])
    )


async def _check_claims(call: ApiCall, own: str, names: tuple[str, ...] | list[str]) -> None:
    """Refuse AppProjects that another project of the account holds, listed or by name."""
    claimed = cast(list(names), ARRAY(Text))
    listed = cast(projects.c.app_projects, ARRAY(Text))
    overlaps = or_(
        listed.op("&&")(claimed),
        (func.cardinality(projects.c.app_projects) == 0) & projects.c.name.in_(names),
    )
    query = (
        select(projects.c.name)
        .where(projects.c.account_id == call.account, projects.c.id != own, overlaps)
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


async def _find(call: ApiCall) -> ProjectRow:
    row = await NOUN.one(call)
    seen = select(projects.c.id).where(projects.c.id == row.id, _reached(call))
    if await call.connection.scalar(seen) is None:
        raise DeniedError(Permission.ACCESS_VIEW, f"project {call.id}", status=404)
    return row


def _reached(call: ApiCall) -> ColumnElement[bool]:
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


def _project(row: ProjectRow) -> Project:
    return shown(Project, row, organisation=row.organisation_id)


ENDPOINTS = CrudNoun(
    path="/projects",
    view=OpenAccess.LOGGED_IN,
    edit=EDIT,
    handlers=CrudHandlers(
        list=list_projects,
        get=get_project,
        create=create_project,
        change=change_project,
        delete=delete_project,
    ),
    gives=Project,
    new=NewProject,
    change=ProjectChange,
    query=ProjectsQuery,
).endpoints()
