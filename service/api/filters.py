"""Saved filters: a name for a query of the applications page, for oneself or for everybody."""

from __future__ import annotations

from typing import Annotated

import msgspec
from sqlalchemy import RowMapping, delete, or_, select

from service.access.permissions import Permission
from service.api import rows
from service.api.call import Call
from service.api.endpoint import Answer, Endpoint, Given, Nothing, Open
from service.api.fields import Title
from service.api.pages import Order, Page, PageQuery, rows_of
from service.api.problem import DeniedError
from service.store.tables import filters


class NewFilter(Given, frozen=True, kw_only=True):
    name: Title
    query: Annotated[str, msgspec.Meta(max_length=2000)]
    """As it stands in the address bar."""
    shared: bool = False


class Filter(Answer, frozen=True, kw_only=True):
    id: str
    name: str
    query: str
    shared: bool
    own: bool


async def list_filters(call: Call, given: PageQuery) -> Page[Filter]:
    """One's own, and those that others share."""
    mine = or_(filters.c.principal_id == call.caller.id, filters.c.shared)
    query = select(filters).where(filters.c.account_id == call.account, mine)
    order = Order(columns=(filters.c.name, filters.c.id))
    found = await rows_of(call.connection, query, order, given, f"{call.caller.id}/filters")
    return Page(items=[_filter(row, call) for row in found.rows], next=found.next)


async def create_filter(call: Call, given: NewFilter) -> Filter:
    """Save one; sharing it with everybody takes settings_edit."""
    if given.shared:
        rows.require_account(call, Permission.SETTINGS_EDIT, f"filter {given.name}")
    values = {"name": given.name, "query": given.query, "shared": given.shared}
    row = await rows.add(call, filters, principal_id=call.caller.id, **values)
    await call.audit("filter.created", f"filter/{given.name}", detail={"shared": given.shared})
    return _filter(row, call)


async def delete_filter(call: Call, _given: Nothing) -> None:
    """One's own; or, with settings_edit, a shared one."""
    row = await rows.one(call, filters, call.id, "filter")
    if row["principal_id"] != call.caller.id:
        if not row["shared"]:
            raise DeniedError(Permission.SETTINGS_EDIT, f"filter {call.id}", status=404)
        rows.require_account(call, Permission.SETTINGS_EDIT, f"filter {row['name']}")
    await call.connection.execute(delete(filters).where(filters.c.id == row["id"]))
    await call.audit("filter.deleted", f"filter/{row['name']}")


def _filter(row: RowMapping, call: Call) -> Filter:
    return Filter(
        id=row["id"],
        name=row["name"],
        query=row["query"],
        shared=row["shared"],
        own=row["principal_id"] == call.caller.id,
    )


_LOGGED_IN = Open.LOGGED_IN
ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/filters",
        needs=_LOGGED_IN,
        handler=list_filters,
        takes=PageQuery,
        gives=Page[Filter],
    ),
    Endpoint(
        method="POST",
        path="/filters",
        needs=_LOGGED_IN,
        handler=create_filter,
        takes=NewFilter,
        gives=Filter,
        status=201,
    ),
    Endpoint(method="DELETE", path="/filters/{id}", needs=_LOGGED_IN, handler=delete_filter),
)
