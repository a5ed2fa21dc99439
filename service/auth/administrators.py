"""Administrators of an account, who can give back what others lost.

An effective administrator is a person who may log in (enabled, with a password) and whose bindings
to the whole account hold together at least the permissions of the built-in role administrator. A
service account is none, because its tokens expire; a narrowed binding does not count, because its
holder cannot give away more than it reaches.

No change may leave an account without one: every change that can take access away runs inside
`administrator_stays`. An account that has no administrator already is not held up; only the
operator can help it: `gitops service grant-admin`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from service.auth.caller import bindings_of, known
from service.store.tables import bindings, principals, roles

ADMINISTRATOR = "administrator"
_LOCK = 0x67740005


class LastAdministratorError(Exception):
    """After a change nobody could administer the account."""


async def take_turn(connection: AsyncConnection, account: str) -> None:
    """Wait until nobody else changes who administers the account; held until the commit.

    Take it before any row is locked: of two administrators who remove each other, the second sees
    what the first did.
    """
    await connection.execute(select(func.pg_advisory_xact_lock(_LOCK, func.hashtext(account))))


async def has_administrator(connection: AsyncConnection, account: str) -> bool:
    role = await connection.scalar(
        select(roles.c.permissions).where(
            roles.c.account_id == account, roles.c.name == ADMINISTRATOR, roles.c.built_in
        )
    )
    needed = known(role or ())
    for person in await _bound_everywhere(connection, account):
        wide = (it for it in await bindings_of(connection, person) if it.scope.whole_account)
        if needed and needed <= frozenset().union(*(it.permissions for it in wide)):
            return True
    return False


@asynccontextmanager
async def administrator_stays(connection: AsyncConnection, account: str) -> AsyncIterator[None]:
    """Around the change; enter it before rows are locked. Raises LastAdministratorError."""
    await take_turn(connection, account)
    had_one = await has_administrator(connection, account)
    yield
    if had_one and not await has_administrator(connection, account):
        raise LastAdministratorError


async def _bound_everywhere(connection: AsyncConnection, account: str) -> list[str]:
    """People who may log in and hold anything in the whole account."""
    query = (
        select(principals.c.id)
        .join(bindings, bindings.c.principal_id == principals.c.id)
        .where(
            principals.c.account_id == account,
            principals.c.kind == "user",
            principals.c.disabled.is_(False),
            principals.c.password_hash != "",
            bindings.c.organisation_id.is_(None),
            bindings.c.project_id.is_(None),
            bindings.c.resource_group_id.is_(None),
        )
        .distinct()
        .order_by(principals.c.id)
    )
    return list((await connection.execute(query)).scalars())
