"""Resource groups: applications by their labels, to narrow a binding to."""

from __future__ import annotations

from sqlalchemy import RowMapping, delete, select

from service.access.permissions import Permission
from service.api import rows, versions
from service.api.call import Call
from service.api.endpoint import Answer, Endpoint, Given, Nothing
from service.api.fields import Labels, Name, Version, text_of
from service.api.pages import Order, Page, PageQuery, rows_of
from service.api.problem import ProblemError
from service.audit.redact import changed
from service.store.tables import bindings, resource_groups

VIEW, EDIT = Permission.ACCESS_VIEW, Permission.ACCESS_EDIT


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
    """All of the account."""
    query = select(resource_groups).where(resource_groups.c.account_id == call.account)
    order = Order(columns=(resource_groups.c.name,))
    found = await rows_of(call.connection, query, order, given, f"{call.account}/groups")
    return Page(items=[_group(row) for row in found.rows], next=found.next)


async def get_group(call: Call, _given: Nothing) -> Group:
    """One group."""
    return _group(await rows.one(call, resource_groups, call.id, "resource group"))


async def create_group(call: Call, given: NewGroup) -> Group:
    """Make one."""
    rows.require_account(call, EDIT, f"resource group {given.name}")
    row = await rows.add(call, resource_groups, name=given.name, labels=given.labels)
    await call.audit("group.created", f"group/{given.name}", detail={"labels": given.labels})
    return _group(row)


async def change_group(call: Call, given: GroupChange) -> Group:
    """Everybody whose binding is narrowed to it sees other applications at once."""
    rows.require_account(call, EDIT, f"resource group {call.id}")
    row = await versions.locked(call, resource_groups, "resource group")
    values = {"labels": given.labels}
    after = await versions.change(call, resource_groups, row, values, given.version)
    detail = changed({"labels": row["labels"]}, values)
    await call.audit("group.changed", f"group/{row['name']}", detail=detail)
    return _group(after)


async def delete_group(call: Call, _given: Nothing) -> None:
    """Only one that no binding is narrowed to: without it they would be wider."""
    rows.require_account(call, EDIT, f"resource group {call.id}")
    row = await versions.locked(call, resource_groups, "resource group")
    query = select(bindings.c.id).where(bindings.c.resource_group_id == row["id"]).limit(1)
    if await call.connection.scalar(query) is not None:
        remedy = "Remove those bindings first."
        raise ProblemError(409, "a binding is narrowed to it", rule="in-use", remedy=remedy)
    mine = resource_groups.c.id == row["id"]
    await call.connection.execute(delete(resource_groups).where(mine))
    await call.audit("group.deleted", f"group/{row['name']}")


def _group(row: RowMapping) -> Group:
    return Group(
        id=row["id"],
        name=row["name"],
        labels=row["labels"],
        version=row["version"],
        created_at=text_of(row["created_at"]),
    )


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
