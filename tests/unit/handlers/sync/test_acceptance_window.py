"""For how long a refused object may still come to be accepted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from handlers.sync.acceptance_window import ACCEPTED_WITHIN, AcceptanceWindow

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(seconds=ACCEPTED_WITHIN)


def test_the_time_counts_from_the_first_refusal() -> None:
    window = AcceptanceWindow()
    assert window.is_open("one", NOW)
    window.note("one", NOW, refused=True)
    window.note("one", LATER, refused=True)
    assert not window.is_open("one", LATER)
    assert window.is_open("another", LATER)


def test_a_later_step_has_its_own_time() -> None:
    window = AcceptanceWindow()
    window.note("one", NOW, refused=True)
    window.note("one", LATER, refused=False)
    assert window.is_open("one", LATER)
