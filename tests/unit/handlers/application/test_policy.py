from __future__ import annotations

from typing import Any

import pytest

from handlers.application.policy import AutoSync, auto_sync, retry_policy, retry_strategy
from handlers.application.spec import Backoff, RetryStrategy
from handlers.application.times import seconds
from tests.unit.handlers.application.builders import application


@pytest.mark.parametrize(
    ("text", "expected"),
    [("5s", 5.0), ("1h30m", 5400.0), ("500ms", 0.5), ("1.5m", 90.0), ("7", 7.0), ("0", 0.0)],
)
def test_durations(text: str, expected: float) -> None:
    assert seconds(text) == expected


@pytest.mark.parametrize("text", ["", "soon", "5 s", "s", "-5s", "1d"])
def test_what_is_no_duration_says_what_is_expected(text: str) -> None:
    with pytest.raises(ValueError, match="expected one like"):
        seconds(text)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (None, None),
        ({}, AutoSync()),
        ({"enabled": False, "prune": True}, None),
        (
            {"prune": True, "selfHeal": True, "allowEmpty": True},
            AutoSync(prune=True, self_heal=True, allow_empty=True),
        ),
        ({"enabled": True, "prune": None}, AutoSync()),
    ],
)
def test_auto_sync(written: dict[str, Any] | None, expected: AutoSync | None) -> None:
    policy = {"automated": written} if written is not None else {}
    assert auto_sync(application({"syncPolicy": policy}).spec) == expected


def test_an_automated_sync_is_retried_five_times_where_nothing_else_is_said() -> None:
    assert retry_strategy(application().spec).limit == 5
    assert retry_strategy(application({"syncPolicy": {"retry": {"limit": 2}}}).spec).limit == 2


def test_a_manual_sync_is_not_retried() -> None:
    assert not retry_policy(None).allows(0)


def test_waits_grow_by_the_factor_up_to_the_maximum() -> None:
    policy = retry_policy(RetryStrategy(limit=9))
    assert [policy.wait(retry) for retry in (1, 2, 3, 6, 1000)] == [10, 20, 40, 180, 180]


def test_a_limit_below_zero_is_without_end() -> None:
    assert retry_policy(RetryStrategy(limit=-1)).allows(10**6)


def test_an_unreadable_back_off_counts_as_the_default() -> None:
    written = RetryStrategy(limit=1, backoff=Backoff(duration="soon", factor=0, max_duration="1m"))
    policy = retry_policy(written)
    assert (policy.duration, policy.factor, policy.max_duration) == (5.0, 2, 60.0)
