"""Who asks: a principal, how they proved it, and what they were given.

Read from the database with each request: a revoked token, an ended session or a binding that was
taken away counts from the next request on.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import RowMapping, select
from sqlalchemy.ext.asyncio import AsyncConnection

from service.access.decide import limited
from service.access.permissions import Permission
from service.access.values import Binding, Scope
from service.store.tables import accounts, bindings, principals, resource_groups, roles


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    account: str
    account_name: str
    id: str
    name: str
    display_name: str
    kind: str
    bindings: tuple[Binding, ...]
    csrf: str = ""
    """Of the session; empty for a token."""
    token: str = ""
    """Id of the API token; empty for a session."""
    session: str = ""
    """Id of the session; empty for a token."""
    until: datetime | None = None
    """When the session or token ends by itself, as far as is known now."""
    address: str = ""

    @property
    def by_cookie(self) -> bool:
        return not self.token


async def bindings_of(connection: AsyncConnection, principal: str) -> tuple[Binding, ...]:
    query = (
        select(
            bindings.c.id,
            bindings.c.organisation_id,
            bindings.c.project_id,
            roles.c.permissions,
            resource_groups.c.labels,
        )
        .join(roles, roles.c.id == bindings.c.role_id)
        .outerjoin(resource_groups, resource_groups.c.id == bindings.c.resource_group_id)
        .where(bindings.c.principal_id == principal)
        .order_by(bindings.c.id)
    )
    return tuple(_binding(row) for row in (await connection.execute(query)).mappings())


def known(names: Any) -> frozenset[Permission]:
    """Names that a newer version wrote and this one does not know allow nothing."""
    return frozenset(it for it in Permission if it in names)


async def caller_of(
    connection: AsyncConnection, principal: str, limit: frozenset[Permission] = frozenset()
) -> Caller | None:
    """None where the principal is gone or disabled. `limit`: what a token may at most."""
    query = (
        select(principals, accounts.c.name.label("account_name"))
        .join(accounts, accounts.c.id == principals.c.account_id)
        .where(principals.c.id == principal, principals.c.disabled.is_(False))
    )
    row = (await connection.execute(query)).mappings().first()
    if row is None:
        return None
    return _caller(row, limited(await bindings_of(connection, principal), limit))


def _caller(row: RowMapping, given: tuple[Binding, ...]) -> Caller:
    return Caller(
        account=row["account_id"],
        account_name=row["account_name"],
        id=row["id"],
        name=row["name"],
        display_name=row["display_name"],
        kind=row["kind"],
        bindings=given,
    )


def _binding(row: RowMapping) -> Binding:
    labels: Mapping[str, str] | None = row["labels"]
    scope = Scope(
        organisation=row["organisation_id"] or "",
        project=row["project_id"] or "",
        labels=labels,
    )
    return Binding(id=row["id"], permissions=known(row["permissions"]), scope=scope)
