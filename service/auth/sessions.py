"""Sessions of browsers: a cookie whose hash stands in the database, for half a day."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec
from sqlalchemy import delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from service.auth.caller import Caller, caller_of
from service.auth.secrets import hash_of, new_secret
from service.store.tables import sessions

COOKIE = "gitops_session"
LIFETIME = timedelta(hours=12)


class NewSession(msgspec.Struct, frozen=True, kw_only=True):
    cookie: str
    csrf: str


async def begin(connection: AsyncConnection, who: Caller, now: datetime) -> NewSession:
    """Also forgets the account's sessions that are over."""
    made = NewSession(cookie=new_secret(), csrf=new_secret())
    over = (sessions.c.account_id == who.account) & (sessions.c.expires_at < now)
    await connection.execute(delete(sessions).where(over))
    await connection.execute(
        insert(sessions).values(
            hash=hash_of(made.cookie),
            account_id=who.account,
            principal_id=who.id,
            csrf=made.csrf,
            address=who.address[:64],
            expires_at=now + LIFETIME,
        )
    )
    return made


async def caller_by_cookie(
    connection: AsyncConnection, cookie: str, now: datetime
) -> Caller | None:
    query = select(sessions).where(sessions.c.hash == hash_of(cookie), sessions.c.expires_at > now)
    row = (await connection.execute(query)).mappings().first()
    who = await caller_of(connection, row["principal_id"]) if row is not None else None
    if row is None or who is None:
        return None
    return msgspec.structs.replace(who, csrf=row["csrf"])


async def end(connection: AsyncConnection, cookie: str) -> None:
    await connection.execute(delete(sessions).where(sessions.c.hash == hash_of(cookie)))


async def end_all(connection: AsyncConnection, principal: str) -> None:
    """After a new password, or when somebody is disabled."""
    await connection.execute(delete(sessions).where(sessions.c.principal_id == principal))
