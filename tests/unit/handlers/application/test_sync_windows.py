"""The truth table of sync windows, as Argo CD has it, for syncs that start and that go on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from handlers.application.sync_windows import SyncWindows, windows_of
from tests.unit.handlers.application.builders import application, project

NOW = datetime(2026, 11, 22, 12, 30, tzinfo=UTC)
MANUAL, OVERRUN = {"manualSync": True}, {"syncOverrun": True}


def window(kind: str, hour: int, **fields: bool) -> dict[str, Any]:
    """An hour of each day for all applications."""
    return {
        "kind": kind,
        "schedule": f"0 {hour} * * *",
        "duration": "1h",
        "applications": ["*"],
        **fields,
    }


ACTIVE_DENY, ACTIVE_ALLOW = window("deny", 12), window("allow", 12)
LATER_DENY, LATER_ALLOW = window("deny", 20), window("allow", 20)

STARTS: dict[str, tuple[list[dict[str, Any]], bool, bool]] = {
    "no window": ([], True, True),
    "active deny": ([ACTIVE_DENY], False, False),
    "active deny beats active allow": ([ACTIVE_DENY, ACTIVE_ALLOW], False, False),
    "active deny with manualSync": ([ACTIVE_DENY | MANUAL], False, True),
    "two active denies, one with manualSync": ([ACTIVE_DENY | MANUAL, ACTIVE_DENY], False, False),
    "an inactive deny says nothing": ([ACTIVE_DENY | MANUAL, LATER_DENY], False, True),
    "active allow": ([ACTIVE_ALLOW], True, True),
    "active allow beats inactive allow": ([ACTIVE_ALLOW, LATER_ALLOW], True, True),
    "inactive allow": ([LATER_ALLOW], False, False),
    "inactive allow with manualSync": ([LATER_ALLOW | MANUAL], False, True),
    "two inactive allows, one with manualSync": ([LATER_ALLOW | MANUAL, LATER_ALLOW], False, False),
    "inactive deny": ([LATER_DENY], True, True),
    "one that cannot be read": ([LATER_DENY | {"schedule": "x"}], False, False),
}


def read(windows: list[dict[str, Any]]) -> SyncWindows:
    return windows_of(application(), project({"syncWindows": windows}))


@pytest.mark.parametrize(("windows", "automated", "by_hand"), STARTS.values(), ids=STARTS)
def test_who_may_start_a_sync(
    windows: list[dict[str, Any]], *, automated: bool, by_hand: bool
) -> None:
    found = read(windows)
    assert (not found.problem(NOW, by_hand=False)) is automated
    assert (not found.problem(NOW, by_hand=True)) is by_hand


BEFORE, WITHIN = NOW - timedelta(hours=1), NOW - timedelta(minutes=5)
ENDED_ALLOW = window("allow", 11)

GOES_ON: dict[str, tuple[list[dict[str, Any]], datetime, bool]] = {
    "into a deny": ([ACTIVE_DENY], BEFORE, False),
    "into a deny with syncOverrun": ([ACTIVE_DENY | OVERRUN], BEFORE, True),
    "into two denies, one with syncOverrun": ([ACTIVE_DENY | OVERRUN, ACTIVE_DENY], BEFORE, False),
    "begun within the deny": ([ACTIVE_DENY | OVERRUN], WITHIN, False),
    "past an allow": ([ENDED_ALLOW], BEFORE, False),
    "past an allow with syncOverrun": ([ENDED_ALLOW | OVERRUN], BEFORE, True),
    "begun past the allow": ([ENDED_ALLOW | OVERRUN], WITHIN, False),
}


@pytest.mark.parametrize(("windows", "began", "goes_on"), GOES_ON.values(), ids=GOES_ON)
def test_a_sync_that_has_begun_may_overrun(
    windows: list[dict[str, Any]], began: datetime, *, goes_on: bool
) -> None:
    problem = read(windows).problem(NOW, by_hand=False, began=began)
    assert (not problem) is goes_on


def test_the_answer_names_the_window_and_when_it_changes() -> None:
    windows = read([ACTIVE_DENY | {"description": "lunch"}, LATER_DENY])
    denied = windows.problem(NOW, by_hand=False)
    assert "lunch: deny 0 12 * * * for 1 h (UTC)" in denied
    assert "until 2026-11-22 13:00 UTC" in denied
    assert min(one.next_change(NOW) for one in windows.windows) == NOW.replace(hour=13, minute=0)
    closed = read([LATER_ALLOW]).problem(NOW, by_hand=False)
    assert "opens at 2026-11-22 20:00 UTC" in closed


def test_windows_of_other_applications_say_nothing() -> None:
    other = ACTIVE_DENY | {"applications": ["api"], "schedule": "cannot be read"}
    assert read([other]).problem(NOW, by_hand=False) == ""


def test_no_project_has_no_window() -> None:
    assert windows_of(application(), None).problem(NOW, by_hand=False) == ""
