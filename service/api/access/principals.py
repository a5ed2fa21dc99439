"""Principals: people with a password, and service accounts that have tokens only."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated

import msgspec
from sqlalchemy import and_, delete, select, true

from service.access.action_patterns import exceeding_actions
from service.access.decision import exceeds, holds
from service.access.permissions import Permission
from service.access.visibility import visible_principals
from service.api.access.password_check import PASSWORDS
from service.audit.audit_record import changed
from service.auth import credentials, login_attempts
from service.auth.administrators import administrator_stays
from service.auth.caller import bindings_of
from service.auth.passwords import LONGEST, SHORTEST
from service.http import crud, versioned
from service.http.call import ApiCall
from service.http.crud import CrudHandlers, CrudNoun
from service.http.endpoint import NoInput, RequestModel, ResponseModel
from service.http.fields import Text, Title, Version, text_of
from service.http.pages import Page, PagedList, PageOrder, PageQuery, read_page
from service.http.problem import DeniedError, ProblemError, invalid
from service.store.tables import principals

VIEW, EDIT = Permission.ACCESS_VIEW, Permission.ACCESS_EDIT
Password = Annotated[str, msgspec.Meta(min_length=SHORTEST, max_length=LONGEST)]


class PrincipalKind(StrEnum):
    USER = "user"
    SERVICE = "service"


class NewPrincipal(RequestModel, frozen=True, kw_only=True):
    kind: PrincipalKind = PrincipalKind.USER
    name: Title
    """Of a person: the e-mail address."""
    display_name: Text = ""
    password: Password | None = None
    """Of a person. A service account has none: make it a token."""


class PrincipalChange(RequestModel, frozen=True, kw_only=True):
    display_name: Text | msgspec.UnsetType = msgspec.UNSET
    password: Password | msgspec.UnsetType = msgspec.UNSET
    disabled: bool | msgspec.UnsetType = msgspec.UNSET
    version: Version | None = None


class PrincipalDetail(ResponseModel, frozen=True, kw_only=True):
    id: str
    kind: PrincipalKind
    name: str
    display_name: str
    disabled: bool
    version: int
    created_at: str


class PrincipalsQuery(PageQuery, frozen=True, kw_only=True):
    """`name`: exactly; who gives roles somewhere finds by it whom they cannot list."""

    kind: PrincipalKind | None = None
    name: Text = ""


class PrincipalRow(versioned.LockedRow, frozen=True, kw_only=True):
    kind: str
    name: str
    display_name: str
    password_hash: str
    disabled: bool
    created_at: datetime


async def list_principals(call: ApiCall, params: PrincipalsQuery) -> Page[PrincipalDetail]:
    """List the principals that are bound where the caller may view access.

    With a name, callers who may give roles find that principal wherever it is bound.
    """
    seen = visible_principals(call.caller, VIEW)
    if params.name:
        named = principals.c.name == params.name
        mine = principals.c.account_id == call.account
        seen = and_(mine, named, true() if holds(call.caller.bindings, EDIT) else seen)
    query = select(principals).where(seen)
    if params.kind is not None:
        query = query.where(principals.c.kind == params.kind)
    paged = PagedList(
        name=f"{call.account}/principals",
        order=PageOrder(columns=(principals.c.name,)),
        into=PrincipalRow,
    )
    found = await read_page(call.connection, query, params, paged)
    return found.page(_principal)


async def get_principal(call: ApiCall, _params: NoInput) -> PrincipalDetail:
    """Get one principal that is bound where the caller may view access."""
    return _principal(await seen_principal(call))


async def create_principal(call: ApiCall, params: NewPrincipal) -> PrincipalDetail:
    """Create a principal; it may do nothing until it is bound to a role."""
    crud.require_account(call, EDIT, f"principal {params.name}")
    if (params.kind is PrincipalKind.USER) != (params.password is not None):
        remedy = "Give a person a password of 12 characters or more, a service account none."
        raise invalid("password", "is for people, and they need one", rule="kind", remedy=remedy)
    hashed = await call.use(PASSWORDS).hash(params.password) if params.password else ""
    values = {"kind": params.kind, "name": params.name, "display_name": params.display_name}
    row = await crud.add(call, principals, PrincipalRow, password_hash=hashed, **values)
    await call.audit("principal.created", f"principal/{params.name}", detail=values)
    return _principal(row)


async def change_principal(call: ApiCall, params: PrincipalChange) -> PrincipalDetail:
    """Change a principal; a new password, or disabling it, ends its sessions and API tokens."""
    row = await seen_principal(call)
    await require_over(call, row)
    values = versioned.values_of(params)
    await _check_change(call, row, values)
    if "password" in values:
        values["password_hash"] = await call.use(PASSWORDS).hash(values.pop("password"))
    async with administrator_stays(call.connection, call.account):
        locked = await versioned.locked(call, principals, "principal", PrincipalRow)
        after = await versioned.change(call, principals, locked, values, params.version)
    if "password_hash" in values or values.get("disabled"):
        await credentials.end_all(call.connection, row.id, call.now)
    if "password_hash" in values:
        await login_attempts.clear(call.connection, row.id)
    detail = changed({it: getattr(row, it) for it in values}, values)
    await call.audit("principal.changed", f"principal/{row.name}", detail=detail)
    return _principal(after)


async def delete_principal(call: ApiCall, _params: NoInput) -> None:
    """Delete a principal with its tokens, sessions and bindings; the audit keeps its name."""
    row = await seen_principal(call)
    await require_over(call, row)
    if row.id == call.caller.id:
        raise ProblemError(409, "you cannot delete yourself", rule="self")
    async with administrator_stays(call.connection, call.account):
        await call.connection.execute(delete(principals).where(principals.c.id == row.id))
    await call.audit("principal.deleted", f"principal/{row.name}")


async def seen_principal(call: ApiCall) -> PrincipalRow:
    """Read the principal of the path; raises 404 where the caller may not know of it."""
    row = await crud.one(call, principals, call.id, "principal", PrincipalRow)
    seen = visible_principals(call.caller, VIEW) & (principals.c.id == row.id)
    if await call.connection.scalar(select(principals.c.id).where(seen)) is None:
        raise DeniedError(VIEW, f"principal {call.id}", status=404)
    return row


async def require_over(call: ApiCall, row: PrincipalRow) -> None:
    """Require that the caller holds all that the principal holds, who could take its place."""
    crud.require_account(call, EDIT, f"principal {row.name}")
    for binding in await bindings_of(call.connection, row.id):
        own = call.caller.bindings
        more = {
            *exceeds(own, binding.permissions, binding.scope),
            *exceeding_actions(own, binding.actions, binding.scope),
        }
        if more:
            detail = f"{row.name} holds more than you: {', '.join(sorted(more))}"
            raise DeniedError(EDIT, f"principal {row.name}", detail=detail)


async def _check_change(call: ApiCall, row: PrincipalRow, values: dict[str, object]) -> None:
    if "password" in values and row.kind != PrincipalKind.USER:
        raise invalid("password", "a service account has none", rule="kind")
    if values.get("disabled") and row.id == call.caller.id:
        raise ProblemError(409, "you cannot disable yourself", field="disabled", rule="self")


def _principal(row: PrincipalRow) -> PrincipalDetail:
    return PrincipalDetail(
        id=row.id,
        kind=PrincipalKind(row.kind),
        name=row.name,
        display_name=row.display_name,
        disabled=row.disabled,
        version=row.version,
        created_at=text_of(row.created_at),
    )


ENDPOINTS = CrudNoun(
    path="/principals",
    view=VIEW,
    edit=EDIT,
    handlers=CrudHandlers(
        list=list_principals,
        get=get_principal,
        create=create_principal,
        change=change_principal,
        delete=delete_principal,
    ),
    gives=PrincipalDetail,
    new=NewPrincipal,
    change=PrincipalChange,
    query=PrincipalsQuery,
).endpoints()
