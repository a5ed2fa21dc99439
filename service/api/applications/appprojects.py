"""AppProjects of each agent: what their applications may deploy, from where, to where.

Everybody who sees applications of the project sees it; `appproject_writes` changes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import func, select, tuple_

from bus.link.kinds import PROJECT
from service.access.permissions import Permission
from service.access.visibility import application_scope, visible_app_projects
from service.api.connections import reported_objects
from service.api.connections.reported_objects import (
    ReportedObjectRow,
    ReportingAgent,
    reported_body,
    version_of,
)
from service.http.call import ApiCall
from service.http.endpoint import Endpoint, NoInput, ResponseModel
from service.http.fields import EnvironmentQuery, Id, Text, in_environment, text_of
from service.http.pages import Page, PagedList, PageOrder, read_page
from service.http.problem import DeniedError
from service.store.tables import agents, applications, objects

KIND = PROJECT.name
VIEW = Permission.APPLICATION_VIEW
Key = tuple[str, str]
"""An agent's id, and the name of a project there."""


class AppProjectsQuery(EnvironmentQuery, frozen=True, kw_only=True):
    """`agent`: its id; environment and region are those of the agent."""

    search: Text = ""
    agent: Id = ""


class AppProjectSummary(ResponseModel, frozen=True, kw_only=True):
    """`applications`: how many of its agent are of it."""

    id: str
    agent: ReportingAgent
    environment: str
    region: str
    namespace: str
    name: str
    description: str
    applications: int
    as_of: str


class AppProjectDetail(AppProjectSummary, frozen=True, kw_only=True):
    """`version` is what If-Match takes; it changes with spec, labels and annotations."""

    version: str
    labels: dict[str, str]
    annotations: dict[str, str]
    spec: dict[str, Any]


async def list_app_projects(call: ApiCall, params: AppProjectsQuery) -> Page[AppProjectSummary]:
    """List the AppProjects that the agents report."""
    query = reported_objects.selected(KIND).where(visible_app_projects(call.caller, VIEW))
    query = query.where(*in_environment(params, agents.c.environment, agents.c.region))
    if params.agent:
        query = query.where(agents.c.id == params.agent)
    if params.search:
        word = params.search.lower()
        query = query.where(func.strpos(func.lower(objects.c.subject), word) > 0)
    paged = PagedList(
        name=f"{call.account}/appprojects",
        order=PageOrder(columns=(objects.c.subject, objects.c.agent_id)),
        into=ReportedObjectRow,
    )
    found = await read_page(call.connection, query, params, paged)
    used = await _used(call, found.rows)
    return Page(
        items=[AppProjectSummary(**_plain(row, used)) for row in found.rows], next=found.next
    )


async def get_app_project(call: ApiCall, _params: NoInput) -> AppProjectDetail:
    """Get one AppProject with its rules."""
    row = await find(call)
    body = row.body
    return AppProjectDetail(
        **_plain(row, await _used(call, [row])),
        version=version_of(reported_body(row)),
        labels=body.get("labels") or {},
        annotations=body.get("annotations") or {},
        spec=body.get("spec") or {},
    )


async def find(call: ApiCall) -> ReportedObjectRow:
    """Read an AppProject; raises 404 where it may not be seen."""
    row = await reported_objects.find(call, KIND)
    scope = await application_scope(call.connection, row.agent_id, row.project, {})
    if not call.may(VIEW, scope):
        raise DeniedError(VIEW, f"{KIND} {call.id}", status=404)
    return row


async def _used(call: ApiCall, found: Sequence[ReportedObjectRow]) -> Mapping[Key, int]:
    keys = [(row.agent_id, row.project) for row in found]
    table = applications.c
    query = (
        select(table.agent_id, table.project, func.count().label("number"))
        .where(tuple_(table.agent_id, table.project).in_(keys))
        .group_by(table.agent_id, table.project)
    )
    rows_ = await call.connection.execute(query)
    return {(row.agent_id, row.project): row.number for row in rows_}


def _plain(row: ReportedObjectRow, used: Mapping[Key, int]) -> dict[str, Any]:
    namespace, _, name = row.subject.partition("/")
    spec: Mapping[str, Any] = row.body.get("spec") or {}
    return {
        "id": reported_objects.id_of(row),
        "agent": ReportingAgent(id=row.agent_id, name=row.agent_name),
        "environment": row.agent_environment,
        "region": row.agent_region,
        "namespace": namespace,
        "name": name,
        "description": str(spec.get("description") or ""),
        "applications": used.get((row.agent_id, row.project), 0),
        "as_of": text_of(row.as_of),
    }


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/appprojects",
        needs=VIEW,
        handler=list_app_projects,
        takes=AppProjectsQuery,
        gives=Page[AppProjectSummary],
    ),
    Endpoint(
        method="GET",
        path="/appprojects/{id}",
        needs=VIEW,
        handler=get_app_project,
        gives=AppProjectDetail,
    ),
)
