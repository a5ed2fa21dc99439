"""Failed logins, counted by name and by address: each one over the allowance waits longer.

The delay doubles up to a quarter of an hour and is forgotten a day after the last failure. A
refused attempt is answered before the password is looked at, so guessing costs us nothing.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from hashlib import sha256

from sqlalchemy import case, delete, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from service.store.tables import login_failures

BY_NAME = 5
BY_ADDRESS = 20
_LONGEST = 900.0
_FORGOTTEN_AFTER = timedelta(days=1)


def delay(failures: int, allowance: int) -> float:
    """Seconds to wait after so many failures."""
    over = failures - allowance
    return 0.0 if over < 0 else min(2.0 ** min(over, 12), _LONGEST)


def keys_of(account: str, name: str, address: str) -> dict[str, int]:
    """What failures are counted by, and how many are free.

    Of the name only a hash is kept: some type their password where the name belongs.
    """
    hashed = sha256(f"{account}/{name.lower()}".encode(errors="replace")).hexdigest()
    return {f"name:{hashed}": BY_NAME, f"address:{address}": BY_ADDRESS}


async def wait_of(connection: AsyncConnection, keys: dict[str, int], now: datetime) -> float:
    """Seconds until the next attempt is looked at; 0 for at once."""
    query = select(login_failures.c.until).where(
        login_failures.c.key.in_(keys), login_failures.c.until > now
    )
    untils = (await connection.execute(query)).scalars().all()
    return max(((it - now).total_seconds() for it in untils), default=0.0)


async def failed(connection: AsyncConnection, keys: dict[str, int], now: datetime) -> None:
    for key, allowance in sorted(keys.items()):
        count = await _counted(connection, key, now)
        until = now + timedelta(seconds=delay(count, allowance))
        await connection.execute(
            login_failures.update().where(login_failures.c.key == key).values(until=until)
        )


async def forgiven(connection: AsyncConnection, keys: dict[str, int]) -> None:
    """After a login: the name's failures are forgotten, not the address's."""
    names = [key for key in keys if key.startswith("name:")]
    await connection.execute(delete(login_failures).where(login_failures.c.key.in_(names)))


async def _counted(connection: AsyncConnection, key: str, now: datetime) -> int:
    old = login_failures.c.until < now - _FORGOTTEN_AFTER
    statement = (
        insert(login_failures)
        .values(key=key, count=1, until=now)
        .on_conflict_do_update(
            index_elements=[login_failures.c.key],
            set_={"count": case((old, 1), else_=login_failures.c.count + 1)},
        )
        .returning(login_failures.c.count)
    )
    return int((await connection.execute(statement)).scalar_one())
