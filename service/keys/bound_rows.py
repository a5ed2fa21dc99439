"""Bound rows: what decides which agent is trusted carries a MAC of a key outside the database.

Who can write the database can add a row, change it, or move it to another agent; none of these
verifies, and a row that does not verify is as good as none. A key that is retired, or a token that
is used, loses its MAC, so that undoing the retirement in the database revives nothing. Pure, but
for `rebind`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
from sqlalchemy import RowMapping, Table, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from service.keys.key_ring import KeyRing
from service.store.tables import agent_keys, enrolment_tokens

BOUND: Mapping[Table, tuple[str, ...]] = {
    agent_keys: ("id", "agent_id", "public_key", "sealing_key"),
    enrolment_tokens: ("id", "agent_id", "hash", "cluster_uid", "expires_at"),
}
"""Tables with the columns `key_id` and `mac`, and what the MAC is about."""

UNBOUND: Mapping[str, str] = {"key_id": "", "mac": ""}
"""What retires a row for good."""


def bound(ring: KeyRing, table: Table, row: Mapping[str, Any] | RowMapping) -> dict[str, Any]:
    """`row`, whole, as it is stored."""
    key = ring.current
    return {**row, "key_id": key.id, "mac": key.mac(_message(table, row))}


def is_bound(ring: KeyRing, table: Table, row: Mapping[str, Any] | RowMapping) -> bool:
    """The service wrote this row, with a key that it still accepts."""
    return ring.verifies_mac(row["key_id"], row["mac"], _message(table, row))


async def rebind(connection: AsyncConnection, ring: KeyRing) -> int:
    """Bind with the key in use what an older key of the ring has bound; how many rows were written.

    A row that does not verify stays as it is.
    """
    written = 0
    for table in BOUND:
        older = select(table).where(table.c.key_id.not_in(("", ring.current.id)))
        for row in (await connection.execute(older.with_for_update())).mappings().all():
            if is_bound(ring, table, row):
                await bind_again(connection, ring, table, row)
                written += 1
    return written


async def bind_again(
    connection: AsyncConnection, ring: KeyRing, table: Table, row: RowMapping
) -> None:
    """Vouch for `row` as it stands: the caller has reason to."""
    new = bound(ring, table, row)
    values = {name: new[name] for name in UNBOUND}
    await connection.execute(update(table).where(table.c.id == row["id"]).values(values))


def _message(table: Table, row: Mapping[str, Any] | RowMapping) -> bytes:
    return msgspec.json.encode([str(table.name), *(_plain(row[name]) for name in BOUND[table])])


def _plain(value: object) -> str:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds")
    return str(value)
