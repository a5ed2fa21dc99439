"""The fleet at a moment, and drift minutes, as values."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from bus.events import HealthAssessed
from bus.status import HealthStatus
from service.api.history.drift_minutes import Span, minutes
from service.api.history.fleet_at_time import StateAtTime, fold_fleet
from tests.service.history.recorded_fact_samples import APP, WEB, A, B, at, deleted, differs, synced

STORY = (
    at(0, synced(A)),
    at(1, HealthAssessed(app=APP, status=HealthStatus.HEALTHY)),
    at(2, differs(WEB, revision=B)),
    at(3, HealthAssessed(app=APP, status=HealthStatus.DEGRADED)),
    at(4, deleted()),
)
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


def test_the_fleet_is_what_the_facts_up_to_then_say() -> None:
    was = [fold_fleet((), STORY[: count + 1]) for count in range(len(STORY))]
    assert [(it[0].sync, it[0].health, it[0].revision) for it in was[:4]] == [
        ("Synced", "Unknown", A),
        ("Synced", "Healthy", A),
        ("OutOfSync", "Healthy", B),
        ("OutOfSync", "Degraded", B),
    ]
    assert was[4] == ()


@given(st.permutations(STORY))
def test_the_order_of_reading_does_not_matter(facts: list[object]) -> None:
    assert fold_fleet((), facts[:]) == fold_fleet((), STORY)  # type: ignore[arg-type]


def test_what_did_not_change_since_is_as_it_is() -> None:
    known = StateAtTime(agent="agent", subject="argocd/quiet", health="Healthy")
    assert known in fold_fleet([known], STORY)


def span(begin: float, end: float, application: str = "a") -> Span:
    return Span(
        application=application,
        begin=NOON + timedelta(minutes=begin),
        end=NOON + timedelta(minutes=end),
    )


def test_two_objects_at_once_are_one_minute_of_their_application() -> None:
    found = minutes([span(0, 10), span(5, 15), span(0, 3, "b")], NOON, NOON + timedelta(hours=2))
    assert found == {(date(2026, 11, 21), "a"): 15.0, (date(2026, 11, 21), "b"): 3.0}


def test_a_drift_over_midnight_is_divided() -> None:
    found = minutes([span(11 * 60, 13 * 60)], NOON, NOON + timedelta(days=2))
    assert found == {(date(2026, 11, 21), "a"): 60.0, (date(2026, 11, 22), "a"): 60.0}


@given(st.lists(st.tuples(st.integers(0, 5000), st.integers(1, 3000)), max_size=8))
def test_minutes_are_never_more_than_the_time(spans: list[tuple[int, int]]) -> None:
    until = NOON + timedelta(minutes=4000)
    found = minutes([span(begin, begin + length) for begin, length in spans], NOON, until)
    covered = {m for begin, length in spans for m in range(begin, min(begin + length, 4000))}
    assert round(sum(found.values())) == len(covered)
