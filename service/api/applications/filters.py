"""Filters of the application list, as conditions of SQL, and those that people saved by name.

A saved filter is a query of the applications page, for one person or for everybody.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import msgspec
from sqlalchemy import Column, ColumnElement, Integer, case, cast, delete, func, or_, select
from sqlalchemy.dialects.postgresql import JSONB

from service.access.permissions import Permission
from service.http import crud
from service.http.call import ApiCall
from service.http.endpoint import Endpoint, NoInput, OpenAccess, RequestModel, ResponseModel
from service.http.fields import Text, Title
from service.http.pages import Page, PagedList, PageOrder, PageQuery, read_page
from service.http.problem import DeniedError
from service.store.tables import agents, applications, filters

_TABLE = applications.c
_WORST = case(
    (_TABLE.health == "Degraded", 0),
    (_TABLE.attention.in_(("Unreadable", "SyncFailed", "Stuck")), 1),
    (_TABLE.health == "Missing", 2),
    (_TABLE.health == "Unknown", 3),
    (_TABLE.sync == "Unknown", 4),
    (_TABLE.sync == "OutOfSync", 5),
    (_TABLE.health == "Progressing", 6),
    (_TABLE.health == "Suspended", 7),
    else_=8,
)
_CHANGED = func.greatest(_TABLE.sync_since, _TABLE.health_since, type_=_TABLE.as_of.type)
_LOGGED_IN = OpenAccess.LOGGED_IN


class ApplicationSort(StrEnum):
    WORST = "worst"
    NAME = "name"
    CHANGED = "changed"


ORDERS = {
    ApplicationSort.WORST: PageOrder(columns=(cast(_WORST, Integer), _TABLE.name, _TABLE.id)),
    ApplicationSort.NAME: PageOrder(columns=(_TABLE.name, _TABLE.id)),
    ApplicationSort.CHANGED: PageOrder(
        columns=(func.coalesce(_CHANGED, _TABLE.as_of, type_=_TABLE.as_of.type), _TABLE.id),
        descending=True,
    ),
}


class ApplicationsQuery(PageQuery, frozen=True, kw_only=True):
    """Several values of a field are separated by commas; labels are `key=value` or `key`."""

    search: Text = ""
    project: Text = ""
    environment: Text = ""
    region: Text = ""
    agent: Text = ""
    health: Text = ""
    sync: Text = ""
    label: Annotated[str, msgspec.Meta(max_length=1000)] = ""
    service: Text = ""
    attention: Text = ""
    sort: ApplicationSort = ApplicationSort.WORST


def filters_of(params: ApplicationsQuery) -> list[ColumnElement[bool]]:
    table = applications.c
    plain: tuple[tuple[str, Column[Any]], ...] = (
        (params.project, table.project),
        (params.environment, table.environment),
        (params.region, table.region),
        (params.health, table.health),
        (params.sync, table.sync),
        (params.service, table.service),
        (params.attention, table.attention),
    )
    found: list[ColumnElement[bool]] = []
    found += [column.in_(text.split(",")) for text, column in plain if text]
    if params.agent:
        names = params.agent.split(",")
        found.append(or_(agents.c.id.in_(names), agents.c.name.in_(names)))
    if params.search:
        word = params.search.lower()
        columns = (table.name, table.repository, table.service, table.project)
        found.append(or_(*(func.strpos(func.lower(it), word) > 0 for it in columns)))
    return found + [_labelled(part) for part in params.label.split(",") if part]


def _labelled(text: str) -> ColumnElement[bool]:
    key, equals, value = text.partition("=")
    if equals:
        return applications.c.labels.op("@>")(cast({key: value}, JSONB))
    has: ColumnElement[bool] = applications.c.labels.op("?")(key)
    return has


class NewSavedFilter(RequestModel, frozen=True, kw_only=True):
    name: Title
    query: Annotated[str, msgspec.Meta(max_length=2000)]
    """As it stands in the address bar."""
    shared: bool = False


class SavedFilter(ResponseModel, frozen=True, kw_only=True):
    id: str
    name: str
    query: str
    shared: bool
    own: bool


class FilterRow(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    principal_id: str
    name: str
    query: str
    shared: bool


async def list_filters(call: ApiCall, params: PageQuery) -> Page[SavedFilter]:
    """List the saved filters of the caller, and those that others share."""
    mine = or_(filters.c.principal_id == call.caller.id, filters.c.shared)
    query = select(filters).where(filters.c.account_id == call.account, mine)
    paged = PagedList(
        name=f"{call.caller.id}/filters",
        order=PageOrder(columns=(filters.c.name, filters.c.id)),
        into=FilterRow,
    )
    found = await read_page(call.connection, query, params, paged)
    return found.page(lambda row: _filter(row, call))


async def create_filter(call: ApiCall, params: NewSavedFilter) -> SavedFilter:
    """Create a saved filter; sharing it with everybody needs settings_edit."""
    if params.shared:
        crud.require_account(call, Permission.SETTINGS_EDIT, f"filter {params.name}")
    values = {"name": params.name, "query": params.query, "shared": params.shared}
    row = await crud.add(call, filters, FilterRow, principal_id=call.caller.id, **values)
    await call.audit("filter.created", f"filter/{params.name}", detail={"shared": params.shared})
    return _filter(row, call)


async def delete_filter(call: ApiCall, _params: NoInput) -> None:
    """Delete a saved filter of the caller; a shared one of others needs settings_edit."""
    row = await crud.one(call, filters, call.id, "filter", FilterRow)
    if row.principal_id != call.caller.id:
        if not row.shared:
            raise DeniedError(Permission.SETTINGS_EDIT, f"filter {call.id}", status=404)
        crud.require_account(call, Permission.SETTINGS_EDIT, f"filter {row.name}")
    await call.connection.execute(delete(filters).where(filters.c.id == row.id))
    await call.audit("filter.deleted", f"filter/{row.name}")


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/filters",
        needs=_LOGGED_IN,
        handler=list_filters,
        takes=PageQuery,
        gives=Page[SavedFilter],
    ),
    Endpoint(
        method="POST",
        path="/filters",
        needs=_LOGGED_IN,
        handler=create_filter,
        takes=NewSavedFilter,
        gives=SavedFilter,
        status=201,
    ),
    Endpoint(method="DELETE", path="/filters/{id}", needs=_LOGGED_IN, handler=delete_filter),
)


def _filter(row: FilterRow, call: ApiCall) -> SavedFilter:
    return SavedFilter(
        id=row.id,
        name=row.name,
        query=row.query,
        shared=row.shared,
        own=row.principal_id == call.caller.id,
    )
