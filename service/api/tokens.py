"""API tokens of a principal: one's own, or a service account's that holds no more than oneself."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any

import msgspec
from sqlalchemy import RowMapping, select, update

from service.access.permissions import Permission
from service.api import rows
from service.api.call import Call
from service.api.endpoint import Answer, Endpoint, Given, Nothing, Open
from service.api.fields import Title, text_of
from service.api.pages import Order, Page, PageQuery, rows_of
from service.api.principals import Kind, require_over, seen_principal
from service.api.problem import DeniedError, not_found
from service.auth.secrets import API_TOKEN, hash_of, new_secret
from service.store.tables import api_tokens

VIEW, EDIT = Permission.ACCESS_VIEW, Permission.ACCESS_EDIT


class NewToken(Given, frozen=True, kw_only=True):
    name: Title
    permissions: Annotated[frozenset[Permission], msgspec.Meta(max_length=50)] = frozenset()
    """At most these; empty: whatever its principal may."""
    days: Annotated[int, msgspec.Meta(ge=1, le=366)] = 90


class Token(Answer, frozen=True, kw_only=True):
    id: str
    name: str
    permissions: list[str]
    created_at: str | None
    expires_at: str | None
    used_at: str | None
    revoked_at: str | None


class IssuedToken(Token, frozen=True, kw_only=True):
    token: str
    """Shown this once."""


async def list_tokens(call: Call, given: PageQuery) -> Page[Token]:
    """Without the tokens themselves: nobody has them but who they were made for."""
    row = await seen_principal(call)
    if row["id"] != call.caller.id:
        rows.require_account(call, VIEW, f"principal {row['name']}")
    query = select(api_tokens).where(api_tokens.c.principal_id == row["id"])
    order = Order(columns=(api_tokens.c.id,), descending=True)
    found = await rows_of(call.connection, query, order, given, f"{row['id']}/tokens")
    return Page(items=[Token(**_fields(it)) for it in found.rows], next=found.next)


async def create_token(call: Call, given: NewToken) -> IssuedToken:
    """Make one, for oneself or for a service account."""
    row = await seen_principal(call)
    await _require_for(call, row)
    token = new_secret(API_TOKEN)
    made = await rows.add(
        call,
        api_tokens,
        principal_id=row["id"],
        name=given.name,
        hash=hash_of(token),
        permissions=sorted(given.permissions),
        expires_at=call.now + timedelta(days=given.days),
    )
    detail = {"permissions": sorted(given.permissions), "days": given.days, "name": given.name}
    await call.audit("token.created", f"principal/{row['name']}", detail=detail)
    return IssuedToken(**_fields(made), token=token)


async def revoke_token(call: Call, _given: Nothing) -> None:
    """From the next request on it opens nothing."""
    row = await seen_principal(call)
    if row["id"] != call.caller.id:
        rows.require_account(call, EDIT, f"principal {row['name']}")
    token = call.request.match_info["token"]
    statement = (
        update(api_tokens)
        .where(
            api_tokens.c.id == token,
            api_tokens.c.principal_id == row["id"],
            api_tokens.c.revoked_at.is_(None),
        )
        .values(revoked_at=call.now)
        .returning(api_tokens.c.name)
    )
    name = await call.connection.scalar(statement)
    if name is None:
        raise not_found(f"token {token}")
    await call.audit("token.revoked", f"principal/{row['name']}", detail={"name": name})


async def _require_for(call: Call, row: RowMapping) -> None:
    """A token made with a limited token would be without its limit: only logins make them."""
    if call.caller.token:
        detail = "log in with your password to make tokens"
        raise DeniedError("token.create", f"principal {row['name']}", detail=detail)
    if row["id"] == call.caller.id:
        return
    if row["kind"] != Kind.SERVICE:
        detail = "people make their own tokens"
        raise DeniedError("token.create", f"principal {row['name']}", detail=detail)
    await require_over(call, row)


def _fields(row: RowMapping) -> dict[str, Any]:
    times = ("created_at", "expires_at", "used_at", "revoked_at")
    return {
        "id": row["id"],
        "name": row["name"],
        "permissions": list(row["permissions"]),
        **{name: text_of(row[name]) for name in times},
    }


_PATH = "/principals/{id}/tokens"
ENDPOINTS = (
    Endpoint(
        method="GET",
        path=_PATH,
        needs=Open.LOGGED_IN,
        handler=list_tokens,
        takes=PageQuery,
        gives=Page[Token],
    ),
    Endpoint(
        method="POST",
        path=_PATH,
        needs=Open.LOGGED_IN,
        handler=create_token,
        takes=NewToken,
        gives=IssuedToken,
        status=201,
    ),
    Endpoint(method="DELETE", path=_PATH + "/{token}", needs=Open.LOGGED_IN, handler=revoke_token),
)
