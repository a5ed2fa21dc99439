"""Recovery of access by the operator, at the command line, with the database and audited.

It serves an account without an administrator, or whose people know no password. Replicas need no
notice of it, because they read the caller from the database with each request.
"""

from __future__ import annotations

from datetime import datetime

import msgspec
from sqlalchemy import Update, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from bus.identity import new_id
from service.audit import audit_book
from service.audit.audit_record import AuditEntry, AuditSource
from service.auth import credentials, login_attempts
from service.auth.administrators import ADMINISTRATOR, take_turn
from service.auth.passwords import hash_password
from service.key_management.adoption import open_signing_engine
from service.settings import ServiceSettings
from service.store.rows import find_row
from service.store.tables import accounts, bindings, principals, roles

_SHOWN = 10


class UnknownUserError(LookupError):
    """There is no user of that name; the message names those that there are."""


class UserRow(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    account_id: str
    name: str


async def grant_administrator(settings: ServiceSettings, name: str, now: datetime) -> None:
    """Make a user administrator of the whole account, and enable the user. Repeating is harmless.

    Raises UnknownUserError, KeyFileError.
    """
    async with open_signing_engine(settings) as engine, engine.begin() as connection:
        user = await _user(connection, settings.account, name)
        await take_turn(connection, user.account_id)
        role = await _administrator_role(connection, user.account_id)
        await connection.execute(_one(user).values(disabled=False))
        if not await _is_bound(connection, user, role):
            binding = {"id": new_id(), "principal_id": user.id, "role_id": role}
            row = {**binding, "account_id": user.account_id}
            await connection.execute(insert(bindings).values(row))
        await _record(connection, user, now, "administrator.granted")


async def reset_password(
    settings: ServiceSettings, name: str, password: str, now: datetime
) -> None:
    """Set a user's password; sessions and API tokens end, and no attempt before it counts.

    Raises UnknownUserError, KeyFileError.
    """
    hashed = hash_password(password)
    async with open_signing_engine(settings) as engine, engine.begin() as connection:
        user = await _user(connection, settings.account, name)
        await connection.execute(_one(user).values(password_hash=hashed))
        await credentials.end_all(connection, user.id, now)
        await login_attempts.clear(connection, user.id)
        await _record(connection, user, now, "password.reset")


def _one(user: UserRow) -> Update:
    return update(principals).where(principals.c.id == user.id)


async def _user(connection: AsyncConnection, account: str, name: str) -> UserRow:
    query = (
        select(principals.c.id, principals.c.account_id, principals.c.name)
        .join(accounts, accounts.c.id == principals.c.account_id)
        .where(accounts.c.name == account, principals.c.kind == "user")
    )
    user = await find_row(connection, query.where(principals.c.name == name), UserRow)
    if user is None:
        known = await connection.execute(query.order_by(principals.c.name).limit(_SHOWN))
        names = ", ".join(it.name for it in known) or "nobody"
        raise UnknownUserError(f"account {account} has no user {name}; its users: {names}")
    return user


async def _administrator_role(connection: AsyncConnection, account: str) -> str:
    mine = (roles.c.account_id == account) & (roles.c.name == ADMINISTRATOR) & roles.c.built_in
    return str((await connection.execute(select(roles.c.id).where(mine))).scalar_one())


async def _is_bound(connection: AsyncConnection, user: UserRow, role: str) -> bool:
    query = select(bindings.c.id).where(
        bindings.c.principal_id == user.id,
        bindings.c.role_id == role,
        bindings.c.organisation_id.is_(None),
        bindings.c.project_id.is_(None),
        bindings.c.resource_group_id.is_(None),
    )
    return await connection.scalar(query.limit(1)) is not None


async def _record(connection: AsyncConnection, user: UserRow, now: datetime, action: str) -> None:
    entry = AuditEntry(
        account=user.account_id,
        id=new_id(),
        time=now,
        actor="command line",
        action=action,
        resource=f"principal/{user.name}",
        outcome="done",
        source=AuditSource.SERVICE,
    )
    await audit_book.record(connection, entry)
