"""The caller's own password and sessions, which everybody may change with no role at all."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import msgspec
from sqlalchemy import delete, select, update

from service.api.access.password_check import PASSWORDS, password_fits, reserve_attempt
from service.api.access.principals import Password, PrincipalRow
from service.auth import credentials, login_attempts
from service.auth.sessions import is_open
from service.http.call import ApiCall
from service.http.endpoint import Endpoint, NoInput, OpenAccess, RequestModel, ResponseModel
from service.http.fields import text_of
from service.http.pages import Page, PagedList, PageOrder, PageQuery, read_page
from service.http.problem import DeniedError, ProblemError, invalid, not_found
from service.store.rows import read_row
from service.store.tables import principals, sessions


class PasswordChange(RequestModel, frozen=True, kw_only=True):
    password: Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]
    """The present one."""
    new_password: Password
    end_tokens: bool = True
    """End the API tokens too: whoever knew the old password may have made some."""


class OwnSession(ResponseModel, frozen=True, kw_only=True):
    id: str
    current: bool
    """It is the session of this request."""
    address: str
    browser: str
    """As the browser describes itself."""
    created_at: str
    seen_at: str
    expires_at: str


class SessionRow(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    address: str
    browser: str
    created_at: datetime
    seen_at: datetime
    expires_at: datetime


async def change_own_password(call: ApiCall, params: PasswordChange) -> None:
    """Change the caller's password; other sessions end, and API tokens unless they are kept."""
    who = call.caller
    _require_session(call, "change your password")
    row = await _own(call)
    locks = login_attempts.locks_of_principal(who.id)
    await reserve_attempt(call, locks)
    if not await password_fits(call, params.password, row.password_hash, locks):
        raise ProblemError(403, "the current password is wrong", field="password", rule="password")
    if params.new_password == params.password:
        raise invalid("newPassword", "expected a password that differs from the current one")
    await login_attempts.forgive(call.connection, locks, call.now)
    hashed = await call.use(PASSWORDS).hash(params.new_password)
    mine = principals.c.id == who.id
    changed = {"password_hash": hashed, "version": principals.c.version + 1}
    await call.connection.execute(update(principals).where(mine).values(changed))
    ended = await credentials.end_sessions(call.connection, who.id, but=who.session)
    if params.end_tokens:
        await credentials.end_tokens(call.connection, who.id, call.now)
    detail = {"sessionsEnded": ended, "tokensEnded": params.end_tokens}
    await call.audit("password.changed", f"principal/{who.name}", detail=detail)


async def list_own_sessions(call: ApiCall, params: PageQuery) -> Page[OwnSession]:
    """List the open sessions of the caller, the newest first."""
    query = select(sessions).where(sessions.c.principal_id == call.caller.id, is_open(call.now))
    paged = PagedList(
        name=f"{call.caller.id}/sessions",
        order=PageOrder(columns=(sessions.c.created_at, sessions.c.id), descending=True),
        into=SessionRow,
    )
    found = await read_page(call.connection, query, params, paged)
    return found.page(lambda row: _shown(call, row))


async def end_own_session(call: ApiCall, _params: NoInput) -> None:
    """End one session of the caller, on whatever machine it is."""
    _require_session(call, "end sessions")
    mine = (sessions.c.id == call.id) & (sessions.c.principal_id == call.caller.id)
    ended = await call.connection.execute(delete(sessions).where(mine))
    if not ended.rowcount:
        raise not_found(f"session {call.id}")
    await call.audit("session.ended", f"principal/{call.caller.name}")


async def end_other_sessions(call: ApiCall, _params: NoInput) -> None:
    """End all sessions of the caller except the one of this request."""
    _require_session(call, "end sessions")
    ended = await credentials.end_sessions(call.connection, call.caller.id, but=call.caller.session)
    detail = {"sessionsEnded": ended}
    await call.audit("session.ended", f"principal/{call.caller.name}", detail=detail)


def _require_session(call: ApiCall, what: str) -> None:
    """A token, which may be limited or leaked, does not decide about other credentials."""
    if not call.caller.session:
        detail = f"log in with your password to {what}"
        raise DeniedError("credentials.change", f"principal {call.caller.name}", detail=detail)


async def _own(call: ApiCall) -> PrincipalRow:
    query = select(principals).where(principals.c.id == call.caller.id).with_for_update()
    return await read_row(call.connection, query, PrincipalRow)


def _shown(call: ApiCall, row: SessionRow) -> OwnSession:
    return OwnSession(
        id=row.id,
        current=row.id == call.caller.session,
        address=row.address,
        browser=row.browser,
        created_at=text_of(row.created_at),
        seen_at=text_of(row.seen_at),
        expires_at=text_of(row.expires_at),
    )


_LOGGED_IN = OpenAccess.LOGGED_IN
ENDPOINTS = (
    Endpoint(
        method="POST",
        path="/me/password",
        needs=_LOGGED_IN,
        handler=change_own_password,
        takes=PasswordChange,
        status=204,
    ),
    Endpoint(
        method="GET",
        path="/me/sessions",
        needs=_LOGGED_IN,
        handler=list_own_sessions,
        takes=PageQuery,
        gives=Page[OwnSession],
    ),
    Endpoint(method="DELETE", path="/me/sessions", needs=_LOGGED_IN, handler=end_other_sessions),
    Endpoint(method="DELETE", path="/me/sessions/{id}", needs=_LOGGED_IN, handler=end_own_session),
)
