"""API tokens: `gt_` and 32 random bytes, shown once, kept as a hash, scoped and expiring."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec
from sqlalchemy import or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from service.access.decision import Caller
from service.auth.caller import caller_of, known
from service.auth.credentials import API_TOKEN, hash_of
from service.store.rows import find_row
from service.store.tables import api_tokens

_NOTED_EVERY = timedelta(minutes=1)


class TokenLoginRow(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    principal_id: str
    permissions: list[str]
    expires_at: datetime | None
    used_at: datetime | None


async def caller_by_token(connection: AsyncConnection, token: str, now: datetime) -> Caller | None:
    """Read the caller of a token; None for an unknown, expired or revoked one alike."""
    if not token.startswith(API_TOKEN):
        return None
    row = await _valid(connection, token, now)
    if row is None:
        return None
    limit = known(row.permissions)
    if row.permissions and not limit:
        return None
    who = await caller_of(connection, row.principal_id, limit)
    if who is None:
        return None
    await _note_use(connection, row, now)
    return msgspec.structs.replace(who, token=row.id, until=row.expires_at)


async def _valid(connection: AsyncConnection, token: str, now: datetime) -> TokenLoginRow | None:
    query = select(api_tokens).where(
        api_tokens.c.hash == hash_of(token),
        api_tokens.c.revoked_at.is_(None),
        or_(api_tokens.c.expires_at.is_(None), api_tokens.c.expires_at > now),
    )
    return await find_row(connection, query, TokenLoginRow)


async def _note_use(connection: AsyncConnection, row: TokenLoginRow, now: datetime) -> None:
    """To the minute: a write with each request would cost more than the request."""
    if row.used_at is None or now - row.used_at > _NOTED_EVERY:
        statement = update(api_tokens).where(api_tokens.c.id == row.id).values(used_at=now)
        await connection.execute(statement)
