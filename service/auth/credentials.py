"""What proves a principal apart from the password: sessions and API tokens, ended together.

Whoever knew an old password may have made tokens with it, so a new password ends them too.
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import delete, update
from sqlalchemy.ext.asyncio import AsyncConnection

from service.store.tables import api_tokens, sessions


async def end_all(connection: AsyncConnection, principal: str, now: datetime) -> None:
    """End the sessions and tokens of a principal: after a reset, or when it is disabled."""
    await end_sessions(connection, principal)
    await end_tokens(connection, principal, now)


async def end_sessions(connection: AsyncConnection, principal: str, but: str = "") -> int:
    """The number of them. `but`: the id of the one that goes on."""
    others = (sessions.c.principal_id == principal) & (sessions.c.id != but)
    return (await connection.execute(delete(sessions).where(others))).rowcount


async def end_tokens(connection: AsyncConnection, principal: str, now: datetime) -> int:
    """The number of them."""
    open_ones = (api_tokens.c.principal_id == principal) & api_tokens.c.revoked_at.is_(None)
    statement = update(api_tokens).where(open_ones).values(revoked_at=now)
    return (await connection.execute(statement)).rowcount
