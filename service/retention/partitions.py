"""Monthly partitions, made and dropped by functions of the tables' owner (migration 0008).

What may not go yet (a drift that lasts, a task that runs, an audit record that no checkpoint
covers) is moved into the table's default partition when its month is dropped, and cleared from
there when it may go.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime

from sqlalchemy import delete, func, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from service.retention.policy import RecordClass
from service.store.tables import idempotency_keys

_NAME = re.compile(r"_(\d{4})_(\d{2})$")
_PARTITIONS = text(
    "SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid"
    " WHERE i.inhparent = to_regclass(:parent)"
)


async def months(connection: AsyncConnection, records: RecordClass) -> Sequence[date]:
    """The months that have a partition."""
    names = (await connection.execute(_PARTITIONS, {"parent": records.value})).scalars()
    found = (_NAME.search(name) for name in names)
    return sorted(date(int(it[1]), int(it[2]), 1) for it in found if it)


async def add_month(connection: AsyncConnection, records: RecordClass, month: date) -> bool:
    """Whether the partition is new; rows of the month that were in the default one move there."""
    return bool(await connection.scalar(select(func.retention_add(records.value, month))))


async def drop_month(connection: AsyncConnection, records: RecordClass, month: date) -> int:
    """How many rows went."""
    return int(await connection.scalar(select(func.retention_drop(records.value, month))) or 0)


async def clear_rest(connection: AsyncConnection, records: RecordClass, before: datetime) -> int:
    """Of the default partition, what is older and may go; how many rows went."""
    if records is RecordClass.TASKS:
        old = idempotency_keys.c.created_at < before
        await connection.execute(delete(idempotency_keys).where(old))
    cleared = func.retention_clear(records.value, before.astimezone(UTC))
    return int(await connection.scalar(select(cleared)) or 0)
