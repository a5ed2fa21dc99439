"""API tokens of the caller, or of a service account that holds no more than the caller."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Any

import msgspec
from sqlalchemy import select, update

from service.access.permissions import Permission
from service.api.access.principals import PrincipalKind, PrincipalRow, require_over, seen_principal
from service.auth.credentials import API_TOKEN, hash_of, new_secret
from service.http import crud
from service.http.call import ApiCall
from service.http.endpoint import Endpoint, NoInput, OpenAccess, RequestModel, ResponseModel
from service.http.fields import Title, text_of
from service.http.pages import Page, PagedList, PageOrder, PageQuery, read_page
from service.http.problem import DeniedError, not_found
from service.store.tables import api_tokens

VIEW, EDIT = Permission.ACCESS_VIEW, Permission.ACCESS_EDIT


class NewToken(RequestModel, frozen=True, kw_only=True):
    name: Title
    permissions: Annotated[frozenset[Permission], msgspec.Meta(max_length=50)] = frozenset()
    """At most these; empty: whatever its principal may."""
    days: Annotated[int, msgspec.Meta(ge=1, le=366)] = 90


class Token(ResponseModel, frozen=True, kw_only=True):
    id: str
    name: str
    permissions: list[str]
    created_at: str
    expires_at: str | None
    used_at: str | None
    revoked_at: str | None


class IssuedToken(Token, frozen=True, kw_only=True):
    token: str
    """Shown this once."""


class TokenRow(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    name: str
    permissions: list[str]
    created_at: datetime
    expires_at: datetime | None
    used_at: datetime | None
    revoked_at: datetime | None


async def list_tokens(call: ApiCall, params: PageQuery) -> Page[Token]:
    """List the API tokens of a principal, without their secrets."""
    row = await seen_principal(call)
    if row.id != call.caller.id:
        crud.require_account(call, VIEW, f"principal {row.name}")
    query = select(api_tokens).where(api_tokens.c.principal_id == row.id)
    paged = PagedList(
        name=f"{row.id}/tokens",
        order=PageOrder(columns=(api_tokens.c.id,), descending=True),
        into=TokenRow,
    )
    found = await read_page(call.connection, query, params, paged)
    return found.page(lambda it: Token(**_fields(it)))


async def create_token(call: ApiCall, params: NewToken) -> IssuedToken:
    """Create an API token for the caller or for a service account; it is shown once."""
    row = await seen_principal(call)
    await _require_for(call, row)
    token = new_secret(API_TOKEN)
    made = await crud.add(
        call,
        api_tokens,
        TokenRow,
        principal_id=row.id,
        name=params.name,
        hash=hash_of(token),
        permissions=sorted(params.permissions),
        expires_at=call.now + timedelta(days=params.days),
    )
    detail = {"permissions": sorted(params.permissions), "days": params.days, "name": params.name}
    await call.audit("token.created", f"principal/{row.name}", detail=detail)
    return IssuedToken(**_fields(made), token=token)


async def revoke_token(call: ApiCall, _params: NoInput) -> None:
    """Revoke an API token, from the next request on."""
    row = await seen_principal(call)
    if row.id != call.caller.id:
        crud.require_account(call, EDIT, f"principal {row.name}")
    token = call.request.match_info["token"]
    statement = (
        update(api_tokens)
        .where(
            api_tokens.c.id == token,
            api_tokens.c.principal_id == row.id,
            api_tokens.c.revoked_at.is_(None),
        )
        .values(revoked_at=call.now)
        .returning(api_tokens.c.name)
    )
    name = await call.connection.scalar(statement)
    if name is None:
        raise not_found(f"token {token}")
    await call.audit("token.revoked", f"principal/{row.name}", detail={"name": name})


async def _require_for(call: ApiCall, row: PrincipalRow) -> None:
    """A token made with a limited token would be without its limit: only logins make them."""
    if call.caller.token:
        detail = "log in with your password to make tokens"
        raise DeniedError("token.create", f"principal {row.name}", detail=detail)
    if row.id == call.caller.id:
        return
    if row.kind != PrincipalKind.SERVICE:
        detail = "people make their own tokens"
        raise DeniedError("token.create", f"principal {row.name}", detail=detail)
    await require_over(call, row)


def _fields(row: TokenRow) -> dict[str, Any]:
    times = ("created_at", "expires_at", "used_at", "revoked_at")
    return {
        "id": row.id,
        "name": row.name,
        "permissions": list(row.permissions),
        **{name: text_of(getattr(row, name)) for name in times},
    }


_PATH = "/principals/{id}/tokens"
ENDPOINTS = (
    Endpoint(
        method="GET",
        path=_PATH,
        needs=OpenAccess.LOGGED_IN,
        handler=list_tokens,
        takes=PageQuery,
        gives=Page[Token],
    ),
    Endpoint(
        method="POST",
        path=_PATH,
        needs=OpenAccess.LOGGED_IN,
        handler=create_token,
        takes=NewToken,
        gives=IssuedToken,
        status=201,
    ),
    Endpoint(
        method="DELETE", path=_PATH + "/{token}", needs=OpenAccess.LOGGED_IN, handler=revoke_token
    ),
)
