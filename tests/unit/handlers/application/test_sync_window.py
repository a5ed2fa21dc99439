"""One sync window: when it is active, what it selects, and what is refused."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from handlers.application.sync_window import SyncWindowError, concerns, read_sync_window
from tests.unit.handlers.application.builders import application

NIGHT = {"kind": "deny", "schedule": "0 22 * * *", "duration": "8h"}


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


ACTIVE = {
    "before": (NIGHT, "2026-11-22T21:59", False),
    "the first moment is outside": (NIGHT, "2026-11-22T22:00", False),
    "right after": (NIGHT, "2026-11-22T22:00:01", True),
    "across midnight": (NIGHT, "2026-11-23T05:59", True),
    "the last moment is outside": (NIGHT, "2026-11-23T06:00", False),
    "in a zone": (NIGHT | {"timeZone": "Europe/Berlin"}, "2026-11-22T21:30", True),
    "in its summer": (NIGHT | {"timeZone": "Europe/Berlin"}, "2026-07-01T20:30", True),
    "weekdays by name": (NIGHT | {"schedule": "0 8 ? * MON-FRI"}, "2026-11-22T09:00", False),
    "a weekday": (NIGHT | {"schedule": "0 8 ? * MON-FRI"}, "2026-11-23T09:00", True),
    "day of month or of week": (NIGHT | {"schedule": "0 8 1 * 1"}, "2026-11-23T09:00", True),
    "step of days or of week": (NIGHT | {"schedule": "0 8 */2 * 1"}, "2026-11-25T09:00", True),
    "every minute": (NIGHT | {"schedule": "* * * * *"}, "2026-11-22T09:00", True),
    "longer than its distance": (NIGHT | {"duration": "25h"}, "2026-11-22T12:00", True),
}


@pytest.mark.parametrize(("written", "now", "active"), ACTIVE.values(), ids=ACTIVE)
def test_a_window_is_active_between_its_ends(
    written: dict[str, Any], now: str, *, active: bool
) -> None:
    assert read_sync_window(written).is_active(at(now)) is active


CHANGES = {
    "opens": (NIGHT, "2026-11-22T12:00", "2026-11-22T22:00"),
    "ends": (NIGHT, "2026-11-22T23:00", "2026-11-23T06:00"),
    "opens in its zone": (
        NIGHT | {"timeZone": "America/New_York"},
        "2026-11-22T12:00",
        "2026-11-23T03:00",
    ),
    "periods that touch are one": (
        NIGHT | {"schedule": "0 22,23 * * *", "duration": "90m"},
        "2026-11-22T22:30",
        "2026-11-23T00:30",
    ),
}


@pytest.mark.parametrize(("written", "now", "change"), CHANGES.values(), ids=CHANGES)
def test_the_next_change_is_known(written: dict[str, Any], now: str, change: str) -> None:
    window = read_sync_window(written)
    found = window.next_change(at(now))
    assert found == at(change)
    assert window.is_active(at(now)) is not window.is_active(found.replace(second=1))


REFUSED = {
    "no kind": ({"kind": ""}, "kind is ''"),
    "seconds": ({"schedule": "0 0 22 * * *"}, "6 fields"),
    "a word": ({"schedule": "@daily"}, "schedule is '@daily'"),
    "day seven": ({"schedule": "0 0 * * 7"}, "Sunday is 0"),
    "the last day": ({"schedule": "0 0 L * *"}, "day of month"),
    "an hour that there is not": ({"schedule": "0 24 * * *"}, "schedule is '0 24 * * *'"),
    "a day that never comes": ({"schedule": "0 0 30 2 *"}, "schedule is '0 0 30 2 *'"),
    "no schedule": ({"schedule": None}, "schedule is None"),
    "days": ({"duration": "1d"}, "duration is '1d'"),
    "no unit": ({"duration": "90"}, "duration is '90'"),
    "no time at all": ({"duration": "0h"}, "duration is '0h'"),
    "an unknown zone": ({"timeZone": "Berlin"}, "timeZone is 'Berlin'"),
    "a path": ({"timeZone": "../../etc/passwd"}, "timeZone is"),
}


@pytest.mark.parametrize(("change", "problem"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_read_is_named(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(SyncWindowError) as refused:
        read_sync_window(NIGHT | change)
    assert problem in str(refused.value)


SELECTED: dict[str, tuple[dict[str, Any], bool]] = {
    "the application": ({"applications": ["w*"]}, True),
    "its namespace": ({"namespaces": ["shop"]}, True),
    "its cluster as written": ({"clusters": ["https://kubernetes.*"]}, True),
    "its cluster by a name that is not written": ({"clusters": ["in-cluster"]}, False),
    "another application": ({"applications": ["api"]}, False),
    "one of two": ({"applications": ["api"], "namespaces": ["shop"]}, True),
    "both are needed": (
        {"applications": ["api"], "namespaces": ["shop"], "andOperator": True},
        False,
    ),
    "both match": ({"applications": ["web"], "namespaces": ["shop"], "andOperator": True}, True),
    "nothing is selected": ({}, False),
    "a list that is none": ({"applications": "web"}, True),
}


@pytest.mark.parametrize(("selectors", "selected"), SELECTED.values(), ids=SELECTED)
def test_a_window_concerns_what_it_selects(selectors: dict[str, Any], *, selected: bool) -> None:
    assert concerns(NIGHT | selectors, application()) is selected
