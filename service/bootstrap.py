"""The first start: it creates account, organisation, project and the first administrator.

It runs once, in one transaction, under a lock that replicas share; later starts find the account
and change nothing. A generated password is returned to be printed once; only its hash is kept.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable

from sqlalchemy import func, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from bus.identity import new_id
from service.access.permissions import BUILT_IN_ROLES
from service.auth.administrators import ADMINISTRATOR
from service.auth.passwords import hash_password
from service.settings import ServiceSettings
from service.store.tables import accounts, bindings, organisations, principals, projects, roles

_LOCK = 0x67740002


async def bootstrap(
    engine: AsyncEngine,
    settings: ServiceSettings,
    hash_password: Callable[[str], str] = hash_password,
) -> str:
    """Make the first account; return its user's generated password, empty for none."""
    async with engine.begin() as connection:
        await connection.execute(select(func.pg_advisory_xact_lock(_LOCK)))
        query = select(accounts.c.id).where(accounts.c.name == settings.account)
        if (await connection.execute(query)).first() is not None:
            return ""
        account = await _make_account(connection, settings)
        password = _password(settings)
        hashed = hash_password(password)
        await _make_administrator(connection, account, settings.admin_name, hashed)
    return "" if settings.admin_password_file else password


async def _make_account(connection: AsyncConnection, settings: ServiceSettings) -> str:
    account, organisation = new_id(), new_id()
    await connection.execute(insert(accounts).values(id=account, name=settings.account))
    await connection.execute(
        insert(organisations).values(
            id=organisation, account_id=account, name=settings.organisation
        )
    )
    await connection.execute(
        insert(projects).values(
            id=new_id(),
            account_id=account,
            organisation_id=organisation,
            name=settings.project,
        )
    )
    return account


async def _make_administrator(
    connection: AsyncConnection, account: str, name: str, password_hash: str
) -> None:
    made = [
        {
            "id": new_id(),
            "account_id": account,
            "name": role,
            "permissions": sorted(permissions),
            "built_in": True,
        }
        for role, permissions in BUILT_IN_ROLES.items()
    ]
    await connection.execute(insert(roles), made)
    role = next(row["id"] for row in made if row["name"] == ADMINISTRATOR)
    person = new_id()
    await connection.execute(
        insert(principals).values(
            id=person,
            account_id=account,
            kind="user",
            name=name,
            display_name="Administrator",
            password_hash=password_hash,
        )
    )
    await connection.execute(
        insert(bindings).values(id=new_id(), account_id=account, principal_id=person, role_id=role)
    )


def _password(settings: ServiceSettings) -> str:
    if settings.admin_password_file is None:
        return secrets.token_urlsafe(18)
    return settings.admin_password_file.read_text().strip()
