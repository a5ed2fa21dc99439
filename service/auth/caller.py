"""Reading the caller of a request: a principal with the roles that bindings grant.

The principal is read from the database with each request: a revoked token, an ended session or a
removed binding counts from the next request on.
"""

from __future__ import annotations

from typing import Any

import msgspec
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from service.access.decision import BindingScope, Caller, GrantedRole, limited
from service.access.permissions import Permission
from service.store.rows import find_row, read_rows
from service.store.tables import accounts, bindings, principals, resource_groups, roles


class GrantRow(msgspec.Struct, frozen=True, kw_only=True):
    """A binding with the permissions of its role and the labels of its resource group."""

    id: str
    organisation_id: str | None
    project_id: str | None
    permissions: list[str]
    actions: list[str]
    labels: dict[str, str] | None


class CallerRow(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    account_id: str
    account_name: str
    name: str
    display_name: str
    kind: str


async def bindings_of(connection: AsyncConnection, principal: str) -> tuple[GrantedRole, ...]:
    query = (
        select(
            bindings.c.id,
            bindings.c.organisation_id,
            bindings.c.project_id,
            roles.c.permissions,
            roles.c.actions,
            resource_groups.c.labels,
        )
        .join(roles, roles.c.id == bindings.c.role_id)
        .outerjoin(resource_groups, resource_groups.c.id == bindings.c.resource_group_id)
        .where(bindings.c.principal_id == principal)
        .order_by(bindings.c.id)
    )
    return tuple(_binding(row) for row in await read_rows(connection, query, GrantRow))


def known(names: Any) -> frozenset[Permission]:
    """Names that a newer version wrote and this one does not know allow nothing."""
    return frozenset(it for it in Permission if it in names)


async def caller_of(
    connection: AsyncConnection, principal: str, limit: frozenset[Permission] = frozenset()
) -> Caller | None:
    """Read a principal as a caller, None where it is gone or disabled; `limit`: of a token."""
    query = (
        select(principals, accounts.c.name.label("account_name"))
        .join(accounts, accounts.c.id == principals.c.account_id)
        .where(principals.c.id == principal, principals.c.disabled.is_(False))
    )
    row = await find_row(connection, query, CallerRow)
    if row is None:
        return None
    return _caller(row, limited(await bindings_of(connection, principal), limit))


def _caller(row: CallerRow, granted: tuple[GrantedRole, ...]) -> Caller:
    return Caller(
        account=row.account_id,
        account_name=row.account_name,
        id=row.id,
        name=row.name,
        display_name=row.display_name,
        kind=row.kind,
        bindings=granted,
    )


def _binding(row: GrantRow) -> GrantedRole:
    scope = BindingScope(
        organisation=row.organisation_id or "",
        project=row.project_id or "",
        labels=row.labels,
    )
    return GrantedRole(
        id=row.id,
        permissions=known(row.permissions),
        scope=scope,
        actions=frozenset(row.actions),
    )
