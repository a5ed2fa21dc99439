"""Applications: the list with its filters, and one application with spec and status."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from sqlalchemy import (
    and_,
    func,
    select,
)

from service.access.decision import ResourceScope
from service.access.permissions import Permission
from service.access.visibility import application_scope, visible_applications
from service.api.applications.filters import ORDERS, ApplicationsQuery, filters_of
from service.api.applications.summaries import (
    ApplicationDetail,
    ApplicationRow,
    ApplicationSummary,
    applications_of,
    selected,
)
from service.api.connections.reported_objects import reported_body, version_of
from service.http.call import ApiCall
from service.http.endpoint import Endpoint, NoInput
from service.http.pages import Page, PagedList, read_page
from service.http.problem import DeniedError, not_found
from service.store.rows import find_row, read_rows
from service.store.tables import agents, applications, epochs, objects

VIEW = Permission.APPLICATION_VIEW


class ReportRow(msgspec.Struct, frozen=True, kw_only=True):
    uid: str
    hash: str
    body: dict[str, Any]


class ScopedApplication(msgspec.Struct, frozen=True, kw_only=True):
    """An application, and where permissions for it may come from."""

    row: ApplicationRow
    scope: ResourceScope


async def list_applications(call: ApiCall, params: ApplicationsQuery) -> Page[ApplicationSummary]:
    """List the applications that the caller may see, those that need a person first."""
    query = selected().where(visible_applications(call.caller, VIEW), *filters_of(params))
    paged = PagedList(
        name=f"{call.account}/applications", order=ORDERS[params.sort], into=ApplicationRow
    )
    found = await read_page(call.connection, query, params, paged)
    return Page(
        items=await applications_of(found.rows, call),
        next=found.next,
        total=await _total(call, params),
    )


async def get_application(call: ApiCall, _params: NoInput) -> ApplicationDetail:
    """Get one application with its spec and status."""
    row = await find(call, call.id)
    body = await body_of(call, row)
    (plain,) = await applications_of([row], call)
    return ApplicationDetail(
        **{name: getattr(plain, name) for name in plain.__struct_fields__},
        version=version_of(body),
        spec=body.get("spec", {}),
        status=body.get("status", {}),
        annotations=body.get("annotations", {}),
    )


async def find(call: ApiCall, id_: str, permission: Permission = VIEW) -> ApplicationRow:
    """Read an application; raises 404 where it may not be seen, 403 where this is not permitted."""
    (found,) = await find_all(call, (id_,), permission)
    return found.row


async def find_all(
    call: ApiCall, ids: Iterable[str], permission: Permission
) -> Sequence[ScopedApplication]:
    """Read applications in the order of their ids, each once; raises for the first as `find`."""
    distinct = list(dict.fromkeys(ids))
    mine = applications.c.account_id == call.account
    query = selected().where(applications.c.id.in_(distinct), mine)
    rows = {row.id: row for row in await read_rows(call.connection, query, ApplicationRow)}
    places: dict[tuple[str, str], ResourceScope] = {}
    found: list[ScopedApplication] = []
    for id_ in distinct:
        if (row := rows.get(id_)) is None:
            raise not_found(f"application {id_}")
        place = row.agent_id, row.project
        if place not in places:
            places[place] = await scope_of(call, row)
        scope = msgspec.structs.replace(places[place], labels=row.labels)
        if not call.may(VIEW, scope):
            raise DeniedError(VIEW, f"application {id_}", status=404)
        call.require(permission, scope, f"application {row.subject}")
        found.append(ScopedApplication(row=row, scope=scope))
    return found


async def scope_of(call: ApiCall, row: ApplicationRow) -> ResourceScope:
    return await application_scope(call.connection, row.agent_id, row.project, row.labels)


async def _total(call: ApiCall, params: ApplicationsQuery) -> int | None:
    """Counted on the first page only."""
    if params.cursor:
        return None
    query = (
        select(func.count())
        .select_from(applications.join(agents, agents.c.id == applications.c.agent_id))
        .where(visible_applications(call.caller, VIEW), *filters_of(params))
    )
    return int(await call.connection.scalar(query) or 0)


async def body_of(call: ApiCall, row: ApplicationRow) -> Mapping[str, Any]:
    """Read the report of an application in the active epoch."""
    query = (
        select(objects.c.body, objects.c.hash, objects.c.uid)
        .join(
            epochs,
            and_(epochs.c.agent_id == objects.c.agent_id, epochs.c.epoch == objects.c.epoch),
        )
        .where(
            epochs.c.state == "active",
            objects.c.agent_id == row.agent_id,
            objects.c.kind == "Application",
            objects.c.subject == row.subject,
        )
    )
    found = await find_row(call.connection, query, ReportRow)
    return reported_body(found) if found is not None else {}


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/applications",
        needs=VIEW,
        handler=list_applications,
        takes=ApplicationsQuery,
        gives=Page[ApplicationSummary],
    ),
    Endpoint(
        method="GET",
        path="/applications/{id}",
        needs=VIEW,
        handler=get_application,
        gives=ApplicationDetail,
    ),
)
