"""Rows of an account, by id: what the nouns of access share."""

from __future__ import annotations

from typing import Any

from sqlalchemy import RowMapping, Table, insert, select

from bus.ids import new_id
from service.access.permissions import Permission
from service.access.values import ACCOUNT, Place
from service.api.call import Call
from service.api.problem import invalid, not_found


async def one(call: Call, table: Table, id_: str, what: str) -> RowMapping:
    query = select(table).where(table.c.id == id_, table.c.account_id == call.account)
    found = await call.connection.execute(query)
    row: RowMapping | None = found.mappings().one_or_none()
    if row is None:
        raise not_found(f"{what} {id_}")
    return row


async def add(call: Call, table: Table, **values: Any) -> RowMapping:
    row = {"id": new_id(), "account_id": call.account, **values}
    found = await call.connection.execute(insert(table).values(row).returning(*table.c))
    return found.mappings().one()


async def referred(call: Call, table: Table, id_: str, field: str) -> RowMapping:
    """What a field of the body names: refused with the field where it is not there."""
    query = select(table).where(table.c.id == id_, table.c.account_id == call.account)
    found = await call.connection.execute(query)
    row: RowMapping | None = found.mappings().one_or_none()
    if row is None:
        raise invalid(field, f"there is no {field} {id_}", rule="reference")
    return row


def organisation_place(id_: str) -> Place:
    return Place(organisations=frozenset([id_]))


def project_place(row: RowMapping) -> Place:
    return Place(organisations=frozenset([row["organisation_id"]]), projects=frozenset([row["id"]]))


def require_account(call: Call, permission: Permission, resource: str) -> None:
    call.require(permission, ACCOUNT, resource)
