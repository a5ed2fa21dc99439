"""The retention policy: how long each class of record is kept, and the monthly partitions it needs.

A month is dropped when all of it is older than the retention, so a record is kept for up to a month
longer than its class says, and never shorter. Partitions are made and dropped by functions of the
tables' owner (migration 0009). What may not go yet (a drift that lasts, a task that runs, an audit
record that no checkpoint covers) is moved into the table's default partition when its month is
dropped, and cleared from there when it may go.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum

import msgspec
from sqlalchemy import delete, func, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from service.store.tables import idempotency_keys

MONTHS_AHEAD = 3
"""Partitions are made so far ahead: a job that fails for weeks costs nothing."""
_NAME = re.compile(r"_(\d{4})_(\d{2})$")
_PARTITIONS = text(
    "SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid"
    " WHERE i.inhparent = to_regclass(:parent)"
)


class RecordClass(StrEnum):
    """The value is the table's name."""

    FACTS = "facts"
    DRIFTS = "drifts"
    TASKS = "tasks"
    AUDIT = "audit"


class RetentionPolicy(msgspec.Struct, frozen=True, kw_only=True):
    facts: timedelta
    drifts: timedelta
    tasks: timedelta
    audit: timedelta

    def kept_since(self, records: RecordClass, now: datetime) -> datetime:
        """Find the begin of the first month that is kept."""
        kept: timedelta = getattr(self, records.value)
        return month_of(now - kept)


def month_of(time: datetime) -> datetime:
    """Find the begin of the month of `time`, in UTC."""
    there = time.astimezone(UTC)
    return datetime(there.year, there.month, 1, tzinfo=UTC)


def months_to_make(now: datetime) -> Sequence[date]:
    """This month and the next ones."""
    months = [month_of(now).date()]
    for _ in range(MONTHS_AHEAD):
        months.append(_next_month(months[-1]))
    return months


def months_to_drop(present: Iterable[date], kept_since: datetime) -> Sequence[date]:
    """Months of which nothing is kept, the oldest first."""
    return sorted(month for month in present if month < kept_since.date())


def _next_month(month: date) -> date:
    return date(month.year + month.month // 12, month.month % 12 + 1, 1)


async def months(connection: AsyncConnection, records: RecordClass) -> Sequence[date]:
    """List the months that have a partition."""
    names = (await connection.execute(_PARTITIONS, {"parent": records.value})).scalars()
    found = (_NAME.search(name) for name in names)
    return sorted(date(int(it[1]), int(it[2]), 1) for it in found if it)


async def add_month(connection: AsyncConnection, records: RecordClass, month: date) -> bool:
    """Make a partition, to which rows of the default one move; return whether it is new."""
    return bool(await connection.scalar(select(func.retention_add(records.value, month))))


async def drop_month(connection: AsyncConnection, records: RecordClass, month: date) -> int:
    """Drop a partition; return how many rows went."""
    return int(await connection.scalar(select(func.retention_drop(records.value, month))) or 0)


async def clear_rest(connection: AsyncConnection, records: RecordClass, before: datetime) -> int:
    """Delete what is older in the default partition; return how many rows went."""
    if records is RecordClass.TASKS:
        old = idempotency_keys.c.created_at < before
        await connection.execute(delete(idempotency_keys).where(old))
    cleared = func.retention_clear(records.value, before.astimezone(UTC))
    return int(await connection.scalar(select(cleared)) or 0)
