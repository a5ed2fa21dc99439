"""The calendar of sync windows: periods, and what they leave open for whom."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from handlers.application.application import AppProject, AppProjectSpec, Metadata
from handlers.application.sync_windows import windows_in
from handlers.application.window_calendar import WindowCalendar, window_calendar

NIGHT = {"kind": "deny", "schedule": "0 22 * * *", "duration": "8h", "applications": ["*"]}
DAY = {"kind": "allow", "schedule": "0 8 * * *", "duration": "10h", "applications": ["*"]}


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def calendar_of(*windows: dict[str, Any], begin: str, days: int = 2) -> WindowCalendar:
    spec = AppProjectSpec(sync_windows=windows)
    project = AppProject(metadata=Metadata(name="frozen"), spec=spec)
    first = at(begin)
    return window_calendar(windows_in(project), first, first + timedelta(days=days))


def spans(calendar: WindowCalendar, lane: int = 0) -> list[tuple[str, str]]:
    return [(shown(one.begin), shown(one.end)) for one in calendar.lanes[lane].periods]


def shown(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%d %H:%M")


def states(calendar: WindowCalendar) -> list[tuple[str, bool, bool]]:
    return [(shown(one.begin), one.automated, one.by_hand) for one in calendar.states]


def test_periods_are_cut_at_the_ends_of_the_calendar() -> None:
    found = calendar_of(NIGHT, begin="2026-11-22T23:00")
    assert spans(found) == [
        ("22 23:00", "23 06:00"),
        ("23 22:00", "24 06:00"),
        ("24 22:00", "24 23:00"),
    ]


def test_without_windows_everything_is_open() -> None:
    found = calendar_of(begin="2026-11-22T12:00")
    assert states(found) == [("22 12:00", True, True)]


def test_a_window_that_denies_closes_both_ways_unless_it_lets_syncs_by_hand_pass() -> None:
    closed = calendar_of(NIGHT, begin="2026-11-22T12:00", days=1)
    assert states(closed) == [
        ("22 12:00", True, True),
        ("22 22:00", False, False),
        ("23 06:00", True, True),
    ]
    passed = calendar_of(NIGHT | {"manualSync": True}, begin="2026-11-22T12:00", days=1)
    assert states(passed)[1] == ("22 22:00", False, True)


def test_outside_of_a_window_that_allows_all_is_closed() -> None:
    found = calendar_of(DAY, begin="2026-11-22T00:00", days=1)
    assert states(found) == [
        ("22 00:00", False, False),
        ("22 08:00", True, True),
        ("22 18:00", False, False),
    ]


def test_a_window_that_denies_wins_over_one_that_allows() -> None:
    noon = {"kind": "deny", "schedule": "0 12 * * *", "duration": "1h", "applications": ["*"]}
    found = calendar_of(DAY, noon, begin="2026-11-22T08:00", days=1)
    assert states(found)[:3] == [
        ("22 08:00", True, True),
        ("22 12:00", False, False),
        ("22 13:00", True, True),
    ]


def test_one_window_that_cannot_be_read_closes_everything() -> None:
    found = calendar_of(NIGHT | {"timeZone": "Atlantis"}, begin="2026-11-22T12:00")
    assert states(found) == [("22 12:00", False, False)]


def test_the_clock_of_the_zone_counts_before_and_after_winter_begins() -> None:
    """Berlin's clocks go back on 25 October 2026 at 01:00 UTC."""
    morning = DAY | {"timeZone": "Europe/Berlin", "duration": "1h"}
    found = calendar_of(morning, begin="2026-10-24T00:00", days=3)
    assert spans(found) == [
        ("24 06:00", "24 07:00"),
        ("25 07:00", "25 08:00"),
        ("26 07:00", "26 08:00"),
    ]


def test_the_state_of_the_calendar_is_the_state_that_the_agent_acts_on() -> None:
    windows = (DAY | {"timeZone": "America/New_York"}, NIGHT | {"timeZone": "Asia/Kolkata"})
    project = AppProject(
        metadata=Metadata(name="frozen"), spec=AppProjectSpec(sync_windows=windows)
    )
    read = windows_in(project)
    first = at("2026-10-30T00:00")
    found = window_calendar(read, first, first + timedelta(days=5))
    for state in found.states:
        middle = state.begin + (state.end - state.begin) / 2
        assert (read.problem(middle, by_hand=False) == "") is state.automated
        assert (read.problem(middle, by_hand=True) == "") is state.by_hand


@pytest.mark.parametrize("schedule", ["* * * * *", "*/2 * * * *"])
def test_windows_that_change_too_often_end_the_calendar_early(schedule: str) -> None:
    busy = NIGHT | {"schedule": schedule, "duration": "30s"}
    found = calendar_of(busy, begin="2026-11-22T00:00", days=8)
    assert found.end < at("2026-11-30T00:00")
    assert len(found.lanes[0].periods) <= 1000
    assert found.states[-1].end == found.end
