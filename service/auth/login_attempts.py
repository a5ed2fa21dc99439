"""Attempts to log in, counted before the password is looked at, so that many at once gain nothing.

An attempt is reserved under the locks below, all or none; a login gives its own back.

    lock                 free   then waits, doubling, up to
    name at an address      5   a quarter of an hour
    name, anywhere         50   a minute
    address, any name      20   two seconds
    known device            5   a quarter of an hour
    who is logged in        5   a quarter of an hour

Only the first is long: its guesser locks out nobody who comes from elsewhere. The second and the
third slow down who guesses from many addresses, or at many names, and lock nobody out who shares
the name or the address. A browser that its owner has logged in with before shows the cookie of a
known device, and is counted by that alone, so that guesses at the name from elsewhere cannot lock
its owner out. The cookie opens nothing, and only its hash is kept. What is counted is forgotten a
day after the last time.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec
from sqlalchemy import case, delete, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from bus.http.budget import holder_of
from service.access.decision import Caller
from service.auth.credentials import hash_of, new_secret
from service.store.tables import accounts, known_devices, login_failures, principals

_RESET_AFTER = timedelta(days=1)
DEVICE_COOKIE = "gitops_device"
DEVICE_PATH = "/api/v1/login"
DEVICE_LIFETIME = timedelta(days=180)
MOST_DEVICES = 20
"""Devices of one person; the oldest give way."""


class AttemptLock(msgspec.Struct, frozen=True, kw_only=True):
    key: str
    allowance: int
    """Attempts that need not wait."""
    longest: float
    """Seconds that one has to wait at most."""
    forgiven: bool = False
    """Whether a login takes back the failures before it, and not only its own attempt."""

    def delay(self, attempts: int) -> float:
        """Seconds to wait after so many attempts."""
        over = attempts - self.allowance
        return 0.0 if over < 0 else min(2.0 ** min(over, 12), self.longest)


def locks_of(account: str, name: str, address: str) -> tuple[AttemptLock, ...]:
    """List the locks of an attempt from anywhere, in the order in which they are taken.

    Of the name only a hash is kept: some type their password where the name belongs.
    """
    holder = holder_of(address)
    hashed = _name_hash(account, name)
    pair = hash_of(f"{account}/{name.lower()}/{holder}")
    return (
        AttemptLock(key=f"pair:{hashed}:{pair}", allowance=5, longest=900.0, forgiven=True),
        AttemptLock(key=f"name:{hashed}", allowance=50, longest=60.0),
        AttemptLock(key=f"address:{holder[:200]}", allowance=20, longest=2.0),
    )


def locks_of_device(device: str) -> tuple[AttemptLock, ...]:
    """Name the lock of an attempt from a known device, by the device's hash."""
    return (AttemptLock(key=f"device:{device}", allowance=5, longest=900.0, forgiven=True),)


def locks_of_principal(principal: str) -> tuple[AttemptLock, ...]:
    """Name the lock of a principal that is logged in and gives the password once more."""
    return (AttemptLock(key=f"principal:{principal}", allowance=5, longest=900.0, forgiven=True),)


async def reserve(
    connection: AsyncConnection, locks: Sequence[AttemptLock], now: datetime
) -> float:
    """Count one attempt, or return the seconds to wait: then roll the transaction back."""
    for lock in locks:
        count = await _counted(connection, lock, now)
        if count is None:
            return await _wait(connection, lock, now)
        until = now + timedelta(seconds=lock.delay(count))
        await connection.execute(
            update(login_failures).where(login_failures.c.key == lock.key).values(until=until)
        )
    return 0.0


async def give_back(connection: AsyncConnection, locks: Sequence[AttemptLock]) -> None:
    """Take back an attempt whose password was not looked at, or was right."""
    for lock in locks:
        await connection.execute(
            update(login_failures)
            .where(login_failures.c.key == lock.key)
            .values(count=func.greatest(login_failures.c.count - 1, 0))
        )


async def forgive(connection: AsyncConnection, locks: Sequence[AttemptLock], now: datetime) -> None:
    """Forget, after a login, the failures of its locks, and what is a day old."""
    await give_back(connection, locks)
    mine = [lock.key for lock in locks if lock.forgiven]
    old = login_failures.c.until < now - _RESET_AFTER
    await connection.execute(delete(login_failures).where(or_(login_failures.c.key.in_(mine), old)))


async def clear(connection: AsyncConnection, principal: str) -> None:
    """Forget all failures of a user's name, devices and logins: a new password was set by others.

    Those of an address stay: they are other people's too, and hold nobody up for long.
    """
    query = (
        select(accounts.c.name.label("account"), principals.c.name)
        .join(principals, principals.c.account_id == accounts.c.id)
        .where(principals.c.id == principal)
    )
    user = (await connection.execute(query)).one()
    hashed = _name_hash(user.account, user.name)
    devices = select(known_devices.c.hash).where(known_devices.c.principal_id == principal)
    mine = [f"name:{hashed}", *(lock.key for lock in locks_of_principal(principal))]
    for device in (await connection.execute(devices)).scalars():
        mine += [lock.key for lock in locks_of_device(device)]
    key = login_failures.c.key
    of_name = key.startswith(f"pair:{hashed}:", autoescape=True)
    await connection.execute(delete(login_failures).where(or_(key.in_(mine), of_name)))


async def _counted(connection: AsyncConnection, lock: AttemptLock, now: datetime) -> int | None:
    """The attempts with this one; None where it has to wait. The row stays locked meanwhile."""
    old = login_failures.c.until < now - _RESET_AFTER
    statement = (
        insert(login_failures)
        .values(key=lock.key, count=1, until=now)
        .on_conflict_do_update(
            index_elements=[login_failures.c.key],
            set_={"count": case((old, 1), else_=login_failures.c.count + 1)},
            where=or_(login_failures.c.count < lock.allowance, login_failures.c.until <= now),
        )
        .returning(login_failures.c.count)
    )
    count: int | None = (await connection.execute(statement)).scalar_one_or_none()
    return count


async def _wait(connection: AsyncConnection, lock: AttemptLock, now: datetime) -> float:
    query = select(login_failures.c.until).where(login_failures.c.key == lock.key)
    until = (await connection.execute(query)).scalar_one_or_none()
    return max((until - now).total_seconds(), 0.001) if until is not None else 0.001


def _name_hash(account: str, name: str) -> str:
    return hash_of(f"{account}/{name.lower()}")


async def is_known_device(
    connection: AsyncConnection, cookie: str, principal: str, now: datetime
) -> bool:
    query = select(known_devices.c.hash).where(
        known_devices.c.hash == hash_of(cookie),
        known_devices.c.principal_id == principal,
        known_devices.c.expires_at > now,
    )
    return (await connection.execute(query)).scalar_one_or_none() is not None


async def remember_device(connection: AsyncConnection, who: Caller, now: datetime) -> str:
    """Make the device known that has just logged in; the value of its cookie."""
    cookie = new_secret()
    await connection.execute(
        insert(known_devices).values(
            hash=hash_of(cookie),
            account_id=who.account,
            principal_id=who.id,
            expires_at=now + DEVICE_LIFETIME,
        )
    )
    mine = known_devices.c.principal_id == who.id
    newest = (
        select(known_devices.c.hash)
        .where(mine)
        .order_by(known_devices.c.expires_at.desc())
        .limit(MOST_DEVICES)
    )
    await connection.execute(delete(known_devices).where(mine, known_devices.c.hash.not_in(newest)))
    return cookie
