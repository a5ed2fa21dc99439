"""Encrypted columns: which ones there are, and one row in and out of them.

A row says with which key it is encrypted; a row that says none is in clear, as a version before
0005 left it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import RowMapping, Table, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from service.keys.key_ring import KeyRing
from service.store.tables import webhooks

ENCRYPTED: Mapping[Table, tuple[str, ...]] = {webhooks: ("url", "secret")}
"""Tables with the columns `id` and `key_id`. The paths of chat services' URLs are credentials."""


def sealed(ring: KeyRing, table: Table, row: Mapping[str, Any]) -> dict[str, Any]:
    """`row`, whole, as it is stored."""
    key = ring.current
    values = {
        name: key.seal(row[name], _place(table, name, row["id"])) for name in ENCRYPTED[table]
    }
    return {**row, **values, "key_id": key.id}


def unsealed(ring: KeyRing, table: Table, row: Mapping[str, Any] | RowMapping) -> dict[str, Any]:
    """`row` as people know it. Raises SealedValueError."""
    if not row["key_id"]:
        return {**row}
    values = {
        name: ring.unseal(row["key_id"], row[name], _place(table, name, row["id"]))
        for name in ENCRYPTED[table]
    }
    return {**row, **values}


async def reseal(connection: AsyncConnection, ring: KeyRing) -> int:
    """Encrypt what is in clear, or encrypted with an older key; how many rows were written.

    Raises SealedValueError: nothing was changed then, because the transaction is the caller's.
    """
    written = 0
    for table, names in ENCRYPTED.items():
        older = select(table).where(table.c.key_id != ring.current.id).with_for_update()
        for row in (await connection.execute(older)).mappings().all():
            new = sealed(ring, table, unsealed(ring, table, row))
            values = {name: new[name] for name in (*names, "key_id")}
            mine = table.c.id == row["id"]
            await connection.execute(update(table).where(mine).values(values))
            written += 1
    return written


def _place(table: Table, column: str, row_id: str) -> str:
    return f"{table.name}/{column}/{row_id}"
