"""Roles: named sets of permissions. The built-in ones stay as they are."""

from __future__ import annotations

from typing import Annotated

import msgspec
from sqlalchemy import RowMapping, select

from service.access.decide import exceeds
from service.access.permissions import Permission
from service.access.values import Scope
from service.api import rows
from service.api.access_visibility import visible_roles
from service.api.call import Call
from service.api.endpoint import Answer, Endpoint, Given, Nothing
from service.api.fields import Name, Version
from service.api.last_administrator import administrator_stays
from service.api.pages import Order, Page, PageQuery, rows_of
from service.api.problem import DeniedError, ProblemError, not_found
from service.api.versioned import Versioned, shown
from service.store.tables import bindings, roles

VIEW, EDIT = Permission.ACCESS_VIEW, Permission.ACCESS_EDIT
NOUN = Versioned(table=roles, word="role", what="role")
Permissions = Annotated[frozenset[Permission], msgspec.Meta(max_length=50)]


class NewRole(Given, frozen=True, kw_only=True):
    name: Name
    permissions: Permissions


class RoleChange(Given, frozen=True, kw_only=True):
    permissions: Permissions
    version: Version | None = None


class Role(Answer, frozen=True, kw_only=True):
    id: str
    name: str
    permissions: list[str]
    built_in: bool
    version: int
    created_at: str | None


async def list_roles(call: Call, given: PageQuery) -> Page[Role]:
    """List the roles that one may see: the built-in ones, those bound here, those one may give."""
    query = select(roles).where(visible_roles(call.caller))
    order = Order(columns=(roles.c.name,))
    found = await rows_of(call.connection, query, order, given, f"{call.account}/roles")
    return Page(items=[shown(Role, row) for row in found.rows], next=found.next)


async def get_role(call: Call, _given: Nothing) -> Role:
    """One role."""
    row = await NOUN.one(call)
    query = select(roles.c.id).where(roles.c.id == row["id"], visible_roles(call.caller))
    if await call.connection.scalar(query) is None:
        raise not_found(f"role {call.id}")
    return shown(Role, row)


async def create_role(call: Call, given: NewRole) -> Role:
    """Make one of permissions that one holds in the whole account."""
    _require(call, given.name, given.permissions)
    values = {"name": given.name, "permissions": sorted(given.permissions)}
    return shown(Role, await NOUN.create(call, values))


async def change_role(call: Call, given: RoleChange) -> Role:
    """Everybody who is bound to it gains or loses at once."""
    async with administrator_stays(call):
        row = await NOUN.locked(call)
        _check_own(row)
        _require(call, row["name"], given.permissions)
        values = {"permissions": sorted(given.permissions)}
        return shown(Role, await NOUN.change(call, row, values, given.version))


async def delete_role(call: Call, _given: Nothing) -> None:
    """Only one that nobody is bound to."""
    row = await NOUN.locked(call)
    _check_own(row)
    _require(call, row["name"], frozenset())
    used = await call.connection.scalar(
        select(bindings.c.id).where(bindings.c.role_id == row["id"]).limit(1)
    )
    if used is not None:
        remedy = "Remove its bindings first."
        raise ProblemError(409, "the role is still bound to somebody", rule="in-use", remedy=remedy)
    await NOUN.delete(call, row)


def _require(call: Call, name: str, permissions: frozenset[Permission]) -> None:
    rows.require_account(call, EDIT, f"role {name}")
    more = exceeds(call.caller.bindings, permissions, Scope())
    if more:
        detail = f"you do not hold in the whole account: {', '.join(sorted(more))}"
        raise DeniedError(EDIT, f"role {name}", detail=detail)


def _check_own(row: RowMapping) -> None:
    if row["built_in"]:
        remedy = "Make a role of your own."
        raise ProblemError(409, "a built-in role stays as it is", rule="built-in", remedy=remedy)


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/roles",
        needs=VIEW,
        handler=list_roles,
        takes=PageQuery,
        gives=Page[Role],
    ),
    Endpoint(
        method="POST",
        path="/roles",
        needs=EDIT,
        handler=create_role,
        takes=NewRole,
        gives=Role,
        status=201,
    ),
    Endpoint(method="GET", path="/roles/{id}", needs=VIEW, handler=get_role, gives=Role),
    Endpoint(
        method="PATCH",
        path="/roles/{id}",
        needs=EDIT,
        handler=change_role,
        takes=RoleChange,
        gives=Role,
    ),
    Endpoint(method="DELETE", path="/roles/{id}", needs=EDIT, handler=delete_role),
)
