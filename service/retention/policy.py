"""How long each class of record is kept, in whole months. Pure.

A month is dropped when all of it is older than the retention, so a record is kept for up to a month
longer than its class says, and never shorter.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum

import msgspec

MONTHS_AHEAD = 3
"""Partitions are made so far ahead: a job that fails for weeks costs nothing."""


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
        """The begin of the first month that is kept."""
        kept: timedelta = getattr(self, records.value)
        return month_of(now - kept)


def month_of(moment: datetime) -> datetime:
    """The begin of the month of `moment`, in UTC."""
    there = moment.astimezone(UTC)
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
