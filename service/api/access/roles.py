"""Roles: named sets of permissions. Built-in roles cannot be changed.

Their names tell what else goes on in the account. Callers who view access in one project see the
roles that are bound in it; callers who give access there also see what they can give.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from sqlalchemy import and_, or_, select

from service.access.action_patterns import ActionPatterns, exceeding_actions
from service.access.decision import BindingScope, Caller, exceeds, visible_scopes
from service.access.permissions import Permission
from service.access.visibility import Condition, visible_bindings, whole_account
from service.auth.administrators import administrator_stays
from service.http import crud
from service.http.call import ApiCall
from service.http.crud import CrudHandlers, CrudNoun
from service.http.endpoint import NoInput, RequestModel, ResponseModel
from service.http.fields import Name, Version
from service.http.pages import Page, PagedList, PageOrder, PageQuery, read_page
from service.http.problem import DeniedError, ProblemError, not_found
from service.http.versioned import VersionedNoun, VersionedRow, shown
from service.store.tables import bindings, roles

VIEW, EDIT = Permission.ACCESS_VIEW, Permission.ACCESS_EDIT
Permissions = Annotated[frozenset[Permission], msgspec.Meta(max_length=50)]


class NewRole(RequestModel, frozen=True, kw_only=True):
    name: Name
    permissions: Permissions
    actions: ActionPatterns = frozenset()
    """Resource actions as `action/<group>/<kind>/<name>`, where `*` stands for any text."""


class RoleChange(RequestModel, frozen=True, kw_only=True):
    permissions: Permissions
    actions: ActionPatterns | None = None
    """None: they stay."""
    version: Version | None = None


class Role(ResponseModel, frozen=True, kw_only=True):
    id: str
    name: str
    permissions: list[str]
    actions: list[str]
    built_in: bool
    version: int
    created_at: str


class RoleRow(VersionedRow, frozen=True, kw_only=True):
    permissions: list[str]
    actions: list[str]
    built_in: bool


NOUN = VersionedNoun(table=roles, row=RoleRow, word="role", what="role")


async def list_roles(call: ApiCall, params: PageQuery) -> Page[Role]:
    """List the roles that the caller may see: built-in, bound in its scope, or its to give."""
    query = select(roles).where(_visible_roles(call.caller))
    paged = PagedList(
        name=f"{call.account}/roles", order=PageOrder(columns=(roles.c.name,)), into=RoleRow
    )
    found = await read_page(call.connection, query, params, paged)
    return found.page(lambda row: shown(Role, row))


async def get_role(call: ApiCall, _params: NoInput) -> Role:
    """Get one role."""
    row = await NOUN.one(call)
    query = select(roles.c.id).where(roles.c.id == row.id, _visible_roles(call.caller))
    if await call.connection.scalar(query) is None:
        raise not_found(f"role {call.id}")
    return shown(Role, row)


async def create_role(call: ApiCall, params: NewRole) -> Role:
    """Create a role of permissions that the caller holds in the whole account."""
    _require(call, params.name, params.permissions, params.actions)
    values = {
        "name": params.name,
        "permissions": sorted(params.permissions),
        "actions": sorted(params.actions),
    }
    return shown(Role, await NOUN.create(call, values))


async def change_role(call: ApiCall, params: RoleChange) -> Role:
    """Change the permissions of a role; everybody bound to the role is affected at once."""
    async with administrator_stays(call.connection, call.account):
        row = await NOUN.locked(call)
        _check_own(row)
        actions = frozenset(row.actions) if params.actions is None else params.actions
        _require(call, row.name, params.permissions, actions)
        values = {"permissions": sorted(params.permissions), "actions": sorted(actions)}
        return shown(Role, await NOUN.change(call, row, values, params.version))


async def delete_role(call: ApiCall, _params: NoInput) -> None:
    """Delete a role that nobody is bound to."""
    row = await NOUN.locked(call)
    _check_own(row)
    _require(call, row.name, frozenset(), frozenset())
    used = await call.connection.scalar(
        select(bindings.c.id).where(bindings.c.role_id == row.id).limit(1)
    )
    if used is not None:
        remedy = "Remove its bindings first."
        raise ProblemError(409, "the role is still bound to somebody", rule="in-use", remedy=remedy)
    await NOUN.delete(call, row)


def _require(
    call: ApiCall, name: str, permissions: frozenset[Permission], actions: frozenset[str]
) -> None:
    crud.require_account(call, EDIT, f"role {name}")
    own = call.caller.bindings
    more = {
        *exceeds(own, permissions, BindingScope()),
        *exceeding_actions(own, actions, BindingScope()),
    }
    if more:
        detail = f"you do not hold in the whole account: {', '.join(sorted(more))}"
        raise DeniedError(EDIT, f"role {name}", detail=detail)


def _check_own(row: RoleRow) -> None:
    if row.built_in:
        remedy = "Make a role of your own."
        raise ProblemError(409, "a built-in role stays as it is", rule="built-in", remedy=remedy)


def _visible_roles(caller: Caller) -> Condition:
    """Select roles that are built in, bound where the caller may look, or theirs to give."""
    mine = roles.c.account_id == caller.account
    if whole_account(caller, VIEW):
        return mine
    bound = select(bindings.c.role_id).where(visible_bindings(caller, VIEW))
    plain = roles.c.actions == []
    grantable = [
        and_(plain, roles.c.permissions.contained_by(permissions))
        for permissions in _granted(caller)
    ]
    return and_(mine, or_(roles.c.built_in, roles.c.id.in_(bound), *grantable))


def _granted(caller: Caller) -> list[list[str]]:
    """List, for each scope in which the caller gives access, the permissions held in all of it."""
    scopes = visible_scopes(caller.bindings, EDIT)
    every = frozenset(Permission)
    return [sorted(every - exceeds(caller.bindings, every, scope)) for scope in scopes]


ENDPOINTS = CrudNoun(
    path="/roles",
    view=VIEW,
    edit=EDIT,
    handlers=CrudHandlers(
        list=list_roles,
        get=get_role,
        create=create_role,
        change=change_role,
        delete=delete_role,
    ),
    gives=Role,
    new=NewRole,
    change=RoleChange,
).endpoints()
