"""Sessions of browsers: a cookie whose hash stands in the database.

A session ends half a day after the login, two hours after the last request that came with it, or
when its owner or an administrator ends it. An open stream is no request: see
service/http/stream_access.py.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec
from sqlalchemy import ColumnElement, delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from service.access.decision import Caller
from service.auth.caller import caller_of
from service.auth.credentials import hash_of, new_secret
from service.store.rows import find_row
from service.store.tables import sessions

COOKIE = "gitops_session"
LIFETIME = timedelta(hours=12)
IDLE = timedelta(hours=2)
_NOTED_EVERY = timedelta(minutes=1)


class NewSession(msgspec.Struct, frozen=True, kw_only=True):
    cookie: str
    csrf: str


class SessionLoginRow(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    principal_id: str
    csrf: str
    expires_at: datetime
    seen_at: datetime


def cookie_name(*, secure: bool) -> str:
    """A browser takes `__Host-` only over HTTPS, for one host and path `/`: no sibling sets it."""
    return f"__Host-{COOKIE}" if secure else COOKIE


def is_open(now: datetime) -> ColumnElement[bool]:
    return (sessions.c.expires_at > now) & (sessions.c.seen_at > now - IDLE)


async def begin(
    connection: AsyncConnection, who: Caller, now: datetime, browser: str = ""
) -> NewSession:
    """Begin a session, and forget sessions of the account that are over."""
    made = NewSession(cookie=new_secret(), csrf=new_secret())
    over = (sessions.c.account_id == who.account) & ~is_open(now)
    await connection.execute(delete(sessions).where(over))
    await connection.execute(
        insert(sessions).values(
            hash=hash_of(made.cookie),
            account_id=who.account,
            principal_id=who.id,
            csrf=made.csrf,
            address=who.address[:64],
            browser=browser[:200],
            created_at=now,
            seen_at=now,
            expires_at=now + LIFETIME,
        )
    )
    return made


async def caller_by_cookie(
    connection: AsyncConnection, cookie: str, now: datetime
) -> Caller | None:
    query = select(sessions).where(sessions.c.hash == hash_of(cookie), is_open(now))
    row = await find_row(connection, query, SessionLoginRow)
    who = await caller_of(connection, row.principal_id) if row is not None else None
    if row is None or who is None:
        return None
    until = min(row.expires_at, row.seen_at + IDLE)
    return msgspec.structs.replace(who, csrf=row.csrf, session=row.id, until=until)


async def note_use(connection: AsyncConnection, who: Caller, now: datetime) -> None:
    """To the minute: a write with each request would cost more than the request."""
    old = (sessions.c.id == who.session) & (sessions.c.seen_at < now - _NOTED_EVERY)
    await connection.execute(update(sessions).where(old).values(seen_at=now))


async def end(connection: AsyncConnection, cookie: str) -> None:
    await connection.execute(delete(sessions).where(sessions.c.hash == hash_of(cookie)))
