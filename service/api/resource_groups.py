"""Resource groups: applications by their labels, to narrow a binding to."""

from __future__ import annotations

from sqlalchemy import select

from service.access.permissions import Permission
from service.api import rows
from service.api.access_visibility import visible_groups
from service.api.call import Call
from service.api.endpoint import Answer, Endpoint, Given, Nothing
from service.api.fields import Labels, Name, Version
from service.api.pages import Order, Page, PageQuery, rows_of
from service.api.problem import ProblemError, not_found
from service.api.versioned import Versioned, shown
from service.store.tables import bindings, resource_groups

VIEW, EDIT = Permission.ACCESS_VIEW, Permission.ACCESS_EDIT

NOUN = Versioned(table=resource_groups, word="group", what="resource group")


class NewGroup(Given, frozen=True, kw_only=True):
    name: Name
    labels: Labels
    """All of them must be on an application."""


class GroupChange(Given, frozen=True, kw_only=True):
    labels: Labels
    version: Version | None = None


class Group(Answer, frozen=True, kw_only=True):
    id: str
    name: str
    labels: dict[str, str]
    version: int
    created_at: str | None


async def list_groups(call: Call, given: PageQuery) -> Page[Group]:
    """List the resource groups that one may see."""
    query = select(resource_groups).where(visible_groups(call.caller))
    order = Order(columns=(resource_groups.c.name,))
    found = await rows_of(call.connection, query, order, given, f"{call.account}/groups")
    return Page(items=[shown(Group, row) for row in found.rows], next=found.next)


async def get_group(call: Call, _given: Nothing) -> Group:
    """One group."""
    row = await NOUN.one(call)
    mine = resource_groups.c.id == row["id"]
    query = select(resource_groups.c.id).where(mine, visible_groups(call.caller))
    if await call.connection.scalar(query) is None:
        raise not_found(f"resource group {call.id}")
    return shown(Group, row)


async def create_group(call: Call, given: NewGroup) -> Group:
    """Make one."""
    rows.require_account(call, EDIT, f"resource group {given.name}")
    values = {"name": given.name, "labels": given.labels}
    return shown(Group, await NOUN.create(call, values))


async def change_group(call: Call, given: GroupChange) -> Group:
    """Everybody whose binding is narrowed to it sees other applications at once."""
    rows.require_account(call, EDIT, f"resource group {call.id}")
    row = await NOUN.locked(call)
    return shown(Group, await NOUN.change(call, row, {"labels": given.labels}, given.version))


async def delete_group(call: Call, _given: Nothing) -> None:
    """Only one that no binding is narrowed to: without it they would be wider."""
    rows.require_account(call, EDIT, f"resource group {call.id}")
    row = await NOUN.locked(call)
    query = select(bindings.c.id).where(bindings.c.resource_group_id == row["id"]).limit(1)
    if await call.connection.scalar(query) is not None:
        remedy = "Remove those bindings first."
        raise ProblemError(
            409, "a binding is still limited to the group", rule="in-use", remedy=remedy
        )
    await NOUN.delete(call, row)


_ONE = "/resource-groups/{id}"
ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/resource-groups",
        needs=VIEW,
        handler=list_groups,
        takes=PageQuery,
        gives=Page[Group],
    ),
    Endpoint(
        method="POST",
        path="/resource-groups",
        needs=EDIT,
        handler=create_group,
        takes=NewGroup,
        gives=Group,
        status=201,
    ),
    Endpoint(method="GET", path=_ONE, needs=VIEW, handler=get_group, gives=Group),
    Endpoint(
        method="PATCH",
        path=_ONE,
        needs=EDIT,
        handler=change_group,
        takes=GroupChange,
        gives=Group,
    ),
    Endpoint(method="DELETE", path=_ONE, needs=EDIT, handler=delete_group),
)
