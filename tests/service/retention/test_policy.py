"""Which months are made and which are dropped, as values."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from service.retention.policy import (
    RecordClass,
    RetentionPolicy,
    months_to_drop,
    months_to_make,
)

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
POLICY = RetentionPolicy(
    facts=timedelta(days=400),
    drifts=timedelta(days=400),
    tasks=timedelta(days=90),
    audit=timedelta(days=1095),
)


def test_partitions_are_made_over_the_end_of_the_year() -> None:
    assert months_to_make(NOW) == [
        date(2026, 11, 1),
        date(2026, 12, 1),
        date(2027, 1, 1),
        date(2027, 2, 1),
    ]


@pytest.mark.parametrize(
    ("records", "since"),
    [
        (RecordClass.FACTS, datetime(2025, 10, 1, tzinfo=UTC)),
        (RecordClass.TASKS, datetime(2026, 8, 1, tzinfo=UTC)),
        (RecordClass.AUDIT, datetime(2023, 11, 1, tzinfo=UTC)),
    ],
)
def test_nothing_is_kept_shorter_than_its_class_says(records: RecordClass, since: datetime) -> None:
    assert POLICY.kept_since(records, NOW) == since


def test_only_months_that_are_over_before_the_retention_are_dropped() -> None:
    present = [date(2026, 8, 1), date(2026, 7, 1), date(2026, 6, 1)]
    since = POLICY.kept_since(RecordClass.TASKS, NOW)
    assert months_to_drop(present, since) == [date(2026, 6, 1), date(2026, 7, 1)]
