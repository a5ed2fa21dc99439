"""How a Secret is said to work, by what was fetched with it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from agent.git.credentials import GitCredential
from agent.git.fetch_outcomes import FetchOutcomes

CREDENTIAL = GitCredential(secret="argocd/org", secrets=("argocd/own", "argocd/org"))


class SteppedClock:
    def __init__(self) -> None:
        self.time = datetime(2026, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        self.time += timedelta(seconds=1)
        return self.time


def statuses(outcomes: FetchOutcomes) -> list[str]:
    found = (outcomes.of(secret) for secret in CREDENTIAL.secrets)
    return [one.status if one else "" for one in found]


def test_every_secret_that_had_a_part_in_a_fetch_is_said_to_work_or_not() -> None:
    outcomes = FetchOutcomes(SteppedClock())
    seen = [statuses(outcomes)]
    for failure in ("", "refused"):
        outcomes.record("https://git.example/a", CREDENTIAL, failure)
        seen.append(statuses(outcomes))
    assert seen == [["", ""], ["Successful"] * 2, ["Failed"] * 2]


def test_one_failing_repository_is_told_until_it_is_fetched_again() -> None:
    outcomes = FetchOutcomes(SteppedClock())
    outcomes.record("https://git.example/a", CREDENTIAL, "a is refused")
    outcomes.record("https://git.example/b", CREDENTIAL)
    state = outcomes.of("argocd/org")
    outcomes.record("https://git.example/a", CREDENTIAL)
    assert state is not None
    assert state.message == "a is refused"
    assert statuses(outcomes) == ["Successful"] * 2


def test_a_repository_that_nobody_asks_for_any_more_is_forgotten() -> None:
    clock = SteppedClock()
    outcomes = FetchOutcomes(clock)
    outcomes.record("https://git.example/gone", CREDENTIAL, "not found")
    clock.time += timedelta(hours=2)
    outcomes.record("https://git.example/b", CREDENTIAL)
    assert statuses(outcomes) == ["Successful"] * 2


def test_the_same_state_is_news_once_and_then_every_few_minutes() -> None:
    clock, reported = SteppedClock(), list[str]()
    outcomes = FetchOutcomes(clock)
    outcomes.changes.subscribe(reported.append)
    for _ in range(10):
        outcomes.record("https://git.example/a", CREDENTIAL)
    once = len(reported)
    clock.time += timedelta(minutes=6)
    outcomes.record("https://git.example/a", CREDENTIAL)
    assert (once, len(reported)) == (2, 4)


def test_a_fetch_without_a_secret_is_of_no_connection() -> None:
    reported = list[str]()
    outcomes = FetchOutcomes(SteppedClock())
    outcomes.changes.subscribe(reported.append)
    outcomes.record("https://git.example/a", None, "not found")
    assert reported == []
