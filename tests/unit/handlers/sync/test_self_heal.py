from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from bus.identity import Revision
from handlers.application.history import History, deployed, recorded
from handlers.application.revisions import Revisions
from handlers.application.spec import Operation, SyncOperation
from handlers.application.status import OperationState, SyncResult
from handlers.application.times import read, since, written
from handlers.sync import repeated_syncs
from tests.unit.handlers.application.builders import application

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def healed(times: int, *, seconds_ago: float = 0) -> OperationState:
    return OperationState(
        operation=Operation(sync=SyncOperation(auto_heal_attempts_count=times)),
        finished_at=written(NOW - timedelta(seconds=seconds_ago)),
    )


@pytest.mark.parametrize(
    ("times", "expected"), [(0, 0), (1, 2), (2, 6), (3, 18), (5, 162), (6, 300), (10**6, 300)]
)
def test_the_wait_grows_threefold_to_five_minutes(times: int, expected: float) -> None:
    assert repeated_syncs.wait(healed(times), NOW) == expected


def test_time_since_the_last_heal_counts() -> None:
    assert repeated_syncs.wait(healed(3, seconds_ago=10), NOW) == 8
    assert repeated_syncs.wait(healed(3, seconds_ago=20), NOW) == 0


def test_a_quiet_time_forgives_earlier_heals() -> None:
    assert repeated_syncs.attempts(healed(6, seconds_ago=330), NOW) == 0


def ended(revision: str) -> OperationState:
    return OperationState(sync_result=SyncResult(revision=revision), finished_at=written(NOW))


def test_history_is_numbered_and_oldest_first() -> None:
    spec = application().spec
    history = recorded(recorded((), ended("a"), spec), ended("b"), spec)
    assert [(one.id, one.revision) for one in history] == [(0, "a"), (1, "b")]
    assert deployed(history) == Revisions(Revision("b"))


@pytest.mark.parametrize(("limit", "kept"), [(None, 10), (2, 2), (0, 0)])
def test_history_is_bounded_and_its_numbers_go_on(limit: int | None, kept: int) -> None:
    spec = application({"revisionHistoryLimit": limit}).spec
    history: History = ()
    for number in range(12):
        history = recorded(history, ended(str(number)), spec)
    assert [one.id for one in history] == list(range(12 - kept, 12))


def test_times_are_read_as_they_are_written() -> None:
    assert read(written(NOW)) == NOW
    assert since(written(NOW), NOW + timedelta(seconds=3)) == 3
    assert since("", NOW) is since("yesterday", NOW) is None
