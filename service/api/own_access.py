"""One's own password and sessions: everybody may change and end them, with no role at all."""

from __future__ import annotations

from typing import Annotated

import msgspec
from sqlalchemy import RowMapping, delete, select, update

from service.api.call import Call
from service.api.endpoint import Answer, Endpoint, Given, Nothing, Open
from service.api.fields import text_of
from service.api.pages import Order, Page, PageQuery, rows_of
from service.api.password_check import password_fits, reserve_attempt
from service.api.principals import Password
from service.api.problem import DeniedError, ProblemError, invalid, not_found
from service.auth import attempts, credentials
from service.auth.sessions import is_open
from service.store.tables import principals, sessions


class PasswordChange(Given, frozen=True, kw_only=True):
    password: Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]
    """The present one."""
    new_password: Password
    end_tokens: bool = True
    """End the API tokens too: whoever knew the old password may have made some."""


class OwnSession(Answer, frozen=True, kw_only=True):
    id: str
    current: bool
    """It is the session of this request."""
    address: str
    browser: str
    """As the browser describes itself."""
    created_at: str | None
    seen_at: str | None
    expires_at: str | None


async def change_own_password(call: Call, given: PasswordChange) -> None:
    """Change the own password; the other sessions end, and the API tokens unless kept."""
    who = call.caller
    _require_session(call, "change your password")
    row = await _own(call)
    locks = attempts.locks_of_principal(who.id)
    await reserve_attempt(call, locks)
    if not await password_fits(call, given.password, row["password_hash"], locks):
        raise ProblemError(403, "the current password is wrong", field="password", rule="password")
    if given.new_password == given.password:
        raise invalid("newPassword", "expected a password that differs from the current one")
    await attempts.forgive(call.connection, locks, call.now)
    hashed = await call.tools.passwords.hash(given.new_password)
    mine = principals.c.id == who.id
    changed = {"password_hash": hashed, "version": principals.c.version + 1}
    await call.connection.execute(update(principals).where(mine).values(changed))
    ended = await credentials.end_sessions(call.connection, who.id, but=who.session)
    if given.end_tokens:
        await credentials.end_tokens(call.connection, who.id, call.now)
    detail = {"sessionsEnded": ended, "tokensEnded": given.end_tokens}
    await call.audit("password.changed", f"principal/{who.name}", detail=detail)


async def list_own_sessions(call: Call, given: PageQuery) -> Page[OwnSession]:
    """List the open sessions of the caller, the newest first."""
    query = select(sessions).where(sessions.c.principal_id == call.caller.id, is_open(call.now))
    order = Order(columns=(sessions.c.created_at, sessions.c.id), descending=True)
    found = await rows_of(call.connection, query, order, given, f"{call.caller.id}/sessions")
    return Page(items=[_shown(call, row) for row in found.rows], next=found.next)


async def end_own_session(call: Call, _given: Nothing) -> None:
    """End one of the caller's sessions, on whatever machine it is."""
    _require_session(call, "end sessions")
    mine = (sessions.c.id == call.id) & (sessions.c.principal_id == call.caller.id)
    ended = await call.connection.execute(delete(sessions).where(mine))
    if not ended.rowcount:
        raise not_found(f"session {call.id}")
    await call.audit("session.ended", f"principal/{call.caller.name}")


async def end_other_sessions(call: Call, _given: Nothing) -> None:
    """End the caller's sessions but the one of this request."""
    _require_session(call, "end sessions")
    ended = await credentials.end_sessions(call.connection, call.caller.id, but=call.caller.session)
    detail = {"sessionsEnded": ended}
    await call.audit("session.ended", f"principal/{call.caller.name}", detail=detail)


def _require_session(call: Call, what: str) -> None:
    """A token, which may be limited or leaked, does not decide about other credentials."""
    if not call.caller.session:
        detail = f"log in with your password to {what}"
        raise DeniedError("credentials.change", f"principal {call.caller.name}", detail=detail)


async def _own(call: Call) -> RowMapping:
    query = select(principals).where(principals.c.id == call.caller.id).with_for_update()
    return (await call.connection.execute(query)).mappings().one()


def _shown(call: Call, row: RowMapping) -> OwnSession:
    return OwnSession(
        id=row["id"],
        current=row["id"] == call.caller.session,
        address=row["address"],
        browser=row["browser"],
        created_at=text_of(row["created_at"]),
        seen_at=text_of(row["seen_at"]),
        expires_at=text_of(row["expires_at"]),
    )


_LOGGED_IN = Open.LOGGED_IN
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
