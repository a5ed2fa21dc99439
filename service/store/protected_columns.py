"""Columns that keys outside the database protect: encrypted ones, and those that a MAC binds.

An encrypted row names the key that sealed it; a row that names none is in clear, as a version
before 0005 left it.

Rows that decide which agent is trusted are bound by a MAC. Whoever can write the database can add a
row, change it, or move it to another agent; none of these verifies, and a row that does not verify
counts as none. A retired key or used token loses its MAC, so undoing that in the database revives
nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
from sqlalchemy import RowMapping, Table, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from service.keys.key_file import KeyRing
from service.store.tables import agent_keys, enrolment_tokens, webhooks

ENCRYPTED: Mapping[Table, tuple[str, ...]] = {webhooks: ("url", "secret")}
"""Tables with the columns `id` and `key_id`. The paths of chat services' URLs are credentials."""
BOUND: Mapping[Table, tuple[str, ...]] = {
    agent_keys: ("id", "agent_id", "public_key", "sealing_key"),
    enrolment_tokens: ("id", "agent_id", "hash", "cluster_uid", "expires_at"),
}
"""Tables with the columns `key_id` and `mac`, and what the MAC is about."""
UNBOUND: Mapping[str, str] = {"key_id": "", "mac": ""}
"""What retires a row for good."""


def sealed(ring: KeyRing, table: Table, row: Mapping[str, Any]) -> dict[str, Any]:
    """`row`, whole, as it is stored."""
    key = ring.current
    values = {
        name: key.seal(row[name], _associated_data(table, name, row["id"]))
        for name in ENCRYPTED[table]
    }
    return {**row, **values, "key_id": key.id}


def unsealed(ring: KeyRing, table: Table, row: Mapping[str, Any] | RowMapping) -> dict[str, Any]:
    """`row` as people know it. Raises SealedValueError."""
    if not row["key_id"]:
        return {**row}
    values = {
        name: ring.unseal(row["key_id"], row[name], _associated_data(table, name, row["id"]))
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


def _associated_data(table: Table, column: str, row_id: str) -> str:
    return f"{table.name}/{column}/{row_id}"


class BoundKeyRow(msgspec.Struct, frozen=True, kw_only=True):
    """A key of an agent, with all columns that its MAC is about."""

    id: str
    agent_id: str
    public_key: str
    sealing_key: str
    key_id: str
    mac: str


class BoundTokenRow(msgspec.Struct, frozen=True, kw_only=True):
    """An enrolment token, with all columns that its MAC is about."""

    id: str
    agent_id: str
    hash: str
    cluster_uid: str
    expires_at: datetime
    key_id: str
    mac: str


def bound(ring: KeyRing, table: Table, row: Mapping[str, Any] | RowMapping) -> dict[str, Any]:
    """`row`, whole, as it is stored."""
    key = ring.current
    return {**row, "key_id": key.id, "mac": key.mac(_message(table, row))}


def is_bound(ring: KeyRing, table: Table, row: Mapping[str, Any] | RowMapping) -> bool:
    """Tell whether the service wrote this row, with a key that it still accepts."""
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
    connection: AsyncConnection, ring: KeyRing, table: Table, row: Mapping[str, Any] | RowMapping
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
