"""Principals: people with a password, and service accounts with tokens only."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec
from sqlalchemy import RowMapping, and_, delete, select, true

from service.access.decide import exceeds, holds
from service.access.permissions import Permission
from service.api import rows, versions
from service.api.call import Call
from service.api.endpoint import Answer, Endpoint, Given, Nothing
from service.api.fields import Text, Title, Version, text_of
from service.api.last_administrator import administrator_stays
from service.api.pages import Order, Page, PageQuery, rows_of
from service.api.problem import DeniedError, ProblemError, invalid
from service.api.sight import visible_principals
from service.audit.redact import changed
from service.auth import attempts, credentials
from service.auth.caller import bindings_of
from service.auth.passwords import LONGEST, SHORTEST
from service.store.tables import principals

VIEW, EDIT = Permission.ACCESS_VIEW, Permission.ACCESS_EDIT
Password = Annotated[str, msgspec.Meta(min_length=SHORTEST, max_length=LONGEST)]


class Kind(StrEnum):
    USER = "user"
    SERVICE = "service"


class NewPrincipal(Given, frozen=True, kw_only=True):
    kind: Kind = Kind.USER
    name: Title
    """Of a person: the e-mail address."""
    display_name: Text = ""
    password: Password | None = None
    """Of a person. A service account has none: make it a token."""


class PrincipalChange(Given, frozen=True, kw_only=True):
    display_name: Text | msgspec.UnsetType = msgspec.UNSET
    password: Password | msgspec.UnsetType = msgspec.UNSET
    disabled: bool | msgspec.UnsetType = msgspec.UNSET
    version: Version | None = None


class PrincipalDetail(Answer, frozen=True, kw_only=True):
    id: str
    kind: str
    name: str
    display_name: str
    disabled: bool
    version: int
    created_at: str | None


class PrincipalsQuery(PageQuery, frozen=True, kw_only=True):
    """`name`: exactly; who gives roles somewhere finds by it whom they cannot list."""

    kind: Kind | None = None
    name: Text = ""


async def list_principals(call: Call, given: PrincipalsQuery) -> Page[PrincipalDetail]:
    """List who is bound where one may look; with a name, whoever has it for who gives roles."""
    seen = visible_principals(call.caller, VIEW)
    if given.name:
        named = principals.c.name == given.name
        mine = principals.c.account_id == call.account
        seen = and_(mine, named, true() if holds(call.caller.bindings, EDIT) else seen)
    query = select(principals).where(seen)
    if given.kind is not None:
        query = query.where(principals.c.kind == given.kind)
    order = Order(columns=(principals.c.name,))
    found = await rows_of(call.connection, query, order, given, f"{call.account}/principals")
    return Page(items=[_principal(row) for row in found.rows], next=found.next)


async def get_principal(call: Call, _given: Nothing) -> PrincipalDetail:
    """Show a principal that is bound where one may look."""
    return _principal(await seen_principal(call))


async def create_principal(call: Call, given: NewPrincipal) -> PrincipalDetail:
    """Make one; it may do nothing until it is bound to a role."""
    rows.require_account(call, EDIT, f"principal {given.name}")
    if (given.kind is Kind.USER) != (given.password is not None):
        remedy = "Give a person a password of 12 characters or more, a service account none."
        raise invalid("password", "is for people, and they need one", rule="kind", remedy=remedy)
    hashed = await call.tools.passwords.hash(given.password) if given.password else ""
    values = {"kind": given.kind, "name": given.name, "display_name": given.display_name}
    row = await rows.add(call, principals, password_hash=hashed, **values)
    await call.audit("principal.created", f"principal/{given.name}", detail=values)
    return _principal(row)


async def change_principal(call: Call, given: PrincipalChange) -> PrincipalDetail:
    """Change a principal; a new password and disabling end its sessions and API tokens."""
    row = await seen_principal(call)
    await require_over(call, row)
    values = versions.values_of(given)
    await _check_change(call, row, values)
    if "password" in values:
        values["password_hash"] = await call.tools.passwords.hash(values.pop("password"))
    async with administrator_stays(call):
        locked = await versions.locked(call, principals, "principal")
        after = await versions.change(call, principals, locked, values, given.version)
    if "password_hash" in values or values.get("disabled"):
        await credentials.end_all(call.connection, row["id"], call.now)
    if "password_hash" in values:
        await attempts.clear(call.connection, row["id"])
    detail = changed({it: row[it] for it in values}, values)
    await call.audit("principal.changed", f"principal/{row['name']}", detail=detail)
    return _principal(after)


async def delete_principal(call: Call, _given: Nothing) -> None:
    """Delete it with its tokens, sessions and bindings; the audit keeps its name."""
    row = await seen_principal(call)
    await require_over(call, row)
    if row["id"] == call.caller.id:
        raise ProblemError(409, "you cannot delete yourself", rule="self")
    async with administrator_stays(call):
        await call.connection.execute(delete(principals).where(principals.c.id == row["id"]))
    await call.audit("principal.deleted", f"principal/{row['name']}")


async def seen_principal(call: Call) -> RowMapping:
    """The path's; raises 404 where the caller may not know of it."""
    row = await rows.one(call, principals, call.id, "principal")
    seen = visible_principals(call.caller, VIEW) & (principals.c.id == row["id"])
    if await call.connection.scalar(select(principals.c.id).where(seen)) is None:
        raise DeniedError(VIEW, f"principal {call.id}", status=404)
    return row


async def require_over(call: Call, row: RowMapping) -> None:
    """Who may take another's place must hold all that the other holds."""
    rows.require_account(call, EDIT, f"principal {row['name']}")
    for binding in await bindings_of(call.connection, row["id"]):
        more = exceeds(call.caller.bindings, binding.permissions, binding.scope)
        if more:
            detail = f"{row['name']} holds more than you: {', '.join(sorted(more))}"
            raise DeniedError(EDIT, f"principal {row['name']}", detail=detail)


async def _check_change(call: Call, row: RowMapping, values: dict[str, object]) -> None:
    if "password" in values and row["kind"] != Kind.USER:
        raise invalid("password", "a service account has none", rule="kind")
    if values.get("disabled") and row["id"] == call.caller.id:
        raise ProblemError(409, "you cannot disable yourself", field="disabled", rule="self")


def _principal(row: RowMapping) -> PrincipalDetail:
    return PrincipalDetail(
        id=row["id"],
        kind=row["kind"],
        name=row["name"],
        display_name=row["display_name"],
        disabled=row["disabled"],
        version=row["version"],
        created_at=text_of(row["created_at"]),
    )


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/principals",
        needs=VIEW,
        handler=list_principals,
        takes=PrincipalsQuery,
        gives=Page[PrincipalDetail],
    ),
    Endpoint(
        method="POST",
        path="/principals",
        needs=EDIT,
        handler=create_principal,
        takes=NewPrincipal,
        gives=PrincipalDetail,
        status=201,
    ),
    Endpoint(
        method="GET",
        path="/principals/{id}",
        needs=VIEW,
        handler=get_principal,
        gives=PrincipalDetail,
    ),
    Endpoint(
        method="PATCH",
        path="/principals/{id}",
        needs=EDIT,
        handler=change_principal,
        takes=PrincipalChange,
        gives=PrincipalDetail,
    ),
    Endpoint(method="DELETE", path="/principals/{id}", needs=EDIT, handler=delete_principal),
)
