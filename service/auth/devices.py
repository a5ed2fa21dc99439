"""Known devices: a cookie that says "somebody has logged in here as this person before".

It opens nothing. Its attempts to log in are counted apart (see attempts.py), so that nobody who
guesses at the name from elsewhere can lock its owner out. Kept as a hash, for half a year.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from service.auth.caller import Caller
from service.auth.secrets import hash_of, new_secret
from service.store.tables import known_devices

COOKIE = "gitops_device"
PATH = "/api/v1/login"
LIFETIME = timedelta(days=180)
MOST = 20
"""Devices of one person; the oldest give way."""


async def is_known(connection: AsyncConnection, cookie: str, principal: str, now: datetime) -> bool:
    query = select(known_devices.c.hash).where(
        known_devices.c.hash == hash_of(cookie),
        known_devices.c.principal_id == principal,
        known_devices.c.expires_at > now,
    )
    return (await connection.execute(query)).scalar_one_or_none() is not None


async def remember(connection: AsyncConnection, who: Caller, now: datetime) -> str:
    """Make the device known that has just logged in; the value of its cookie."""
    cookie = new_secret()
    await connection.execute(
        insert(known_devices).values(
            hash=hash_of(cookie),
            account_id=who.account,
            principal_id=who.id,
            expires_at=now + LIFETIME,
        )
    )
    mine = known_devices.c.principal_id == who.id
    newest = (
        select(known_devices.c.hash)
        .where(mine)
        .order_by(known_devices.c.expires_at.desc())
        .limit(MOST)
    )
    await connection.execute(delete(known_devices).where(mine, known_devices.c.hash.not_in(newest)))
    return cookie
