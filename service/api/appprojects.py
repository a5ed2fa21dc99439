"""Argo CD's projects of each agent: what their applications may deploy, from where, to where.

Seen by who sees the applications of the project; appproject_orders.py writes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import RowMapping, func, select, tuple_

from service.access.permissions import Permission
from service.api import told
from service.api.call import Call
from service.api.endpoint import Answer, Endpoint, Nothing
from service.api.fields import Id, Text, text_of
from service.api.pages import Order as PageOrder
from service.api.pages import Page, rows_of
from service.api.places import PlaceQuery, in_place
from service.api.problem import DeniedError
from service.api.sight import application_place, visible_app_projects
from service.store.tables import agents, applications, objects

KIND = "AppProject"
VIEW = Permission.APPLICATION_VIEW
Key = tuple[str, str]
"""An agent's id, and the name of a project there."""


class AppProjectsQuery(PlaceQuery, frozen=True, kw_only=True):
    """`agent`: its id; environment and region are those of the agent."""

    search: Text = ""
    agent: Id = ""


class AppProject(Answer, frozen=True, kw_only=True):
    """`applications`: how many of its agent are of it."""

    id: str
    agent: dict[str, str]
    environment: str
    region: str
    namespace: str
    name: str
    description: str
    applications: int
    as_of: str | None


class AppProjectDetail(AppProject, frozen=True, kw_only=True):
    """`version` is what If-Match takes: the hash of what the agent reported."""

    version: str
    labels: dict[str, str]
    annotations: dict[str, str]
    spec: dict[str, Any]


async def list_app_projects(call: Call, given: AppProjectsQuery) -> Page[AppProject]:
    """As the agents report them."""
    query = told.selected(KIND).where(visible_app_projects(call.caller, VIEW))
    query = query.where(*in_place(given, agents.c.environment, agents.c.region))
    if given.agent:
        query = query.where(agents.c.id == given.agent)
    if given.search:
        word = given.search.lower()
        query = query.where(func.strpos(func.lower(objects.c.subject), word) > 0)
    order = PageOrder(columns=(objects.c.subject, objects.c.agent_id))
    found = await rows_of(call.connection, query, order, given, f"{call.account}/appprojects")
    used = await _used(call, found.rows)
    return Page(items=[AppProject(**_plain(row, used)) for row in found.rows], next=found.next)


async def get_app_project(call: Call, _given: Nothing) -> AppProjectDetail:
    """One of them, with its rules."""
    row = await find(call)
    body = row["body"]
    return AppProjectDetail(
        **_plain(row, await _used(call, [row])),
        version=row["hash"],
        labels=body.get("labels") or {},
        annotations=body.get("annotations") or {},
        spec=body.get("spec") or {},
    )


async def find(call: Call) -> RowMapping:
    """Raises 404 where it may not be seen."""
    row = await told.find(call, KIND)
    place = await application_place(call.connection, row["agent_id"], row["project"], {})
    if not call.may(VIEW, place):
        raise DeniedError(VIEW, f"{KIND} {call.id}", status=404)
    return row


async def _used(call: Call, found: Sequence[RowMapping]) -> Mapping[Key, int]:
    keys = [(row["agent_id"], row["project"]) for row in found]
    table = applications.c
    query = (
        select(table.agent_id, table.project, func.count().label("number"))
        .where(tuple_(table.agent_id, table.project).in_(keys))
        .group_by(table.agent_id, table.project)
    )
    rows_ = await call.connection.execute(query)
    return {(row.agent_id, row.project): row.number for row in rows_}


def _plain(row: RowMapping, used: Mapping[Key, int]) -> dict[str, Any]:
    namespace, _, name = row["subject"].partition("/")
    spec: Mapping[str, Any] = row["body"].get("spec") or {}
    return {
        "id": told.id_of(row),
        "agent": {"id": row["agent_id"], "name": row["agent_name"]},
        "environment": row["agent_environment"],
        "region": row["agent_region"],
        "namespace": namespace,
        "name": name,
        "description": str(spec.get("description") or ""),
        "applications": used.get((row["agent_id"], row["project"]), 0),
        "as_of": text_of(row["as_of"]),
    }


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/appprojects",
        needs=VIEW,
        handler=list_app_projects,
        takes=AppProjectsQuery,
        gives=Page[AppProject],
    ),
    Endpoint(
        method="GET",
        path="/appprojects/{id}",
        needs=VIEW,
        handler=get_app_project,
        gives=AppProjectDetail,
    ),
)
