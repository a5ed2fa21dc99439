"""Budgets: bounded in all and for each holder, whatever the order of taking and giving back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bus.http.budget import Budget, HttpLimits, affordable, holder_of


def test_one_holder_leaves_room_for_another() -> None:
    budget = Budget(total=3, share=2)

    assert [budget.take("a") for _ in range(3)] == [True, True, False]
    assert budget.take("b")
    assert not budget.take("c")


def test_what_is_given_back_can_be_taken_again() -> None:
    budget = Budget(total=10, share=10)
    budget.take("a", 10)
    budget.give_back("a", 4)

    assert (budget.used, budget.held("a")) == (6, 6)
    assert budget.take("b", 4)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 9)), max_size=40))
def test_all_that_was_taken_and_given_back_leaves_nothing(wants: list[tuple[str, int]]) -> None:
    budget = Budget(total=20, share=8)
    taken = [(holder, amount) for holder, amount in wants if budget.take(holder, amount)]

    assert budget.used == sum(amount for _, amount in taken) <= 20
    assert all(budget.held(holder) <= 8 for holder in "abc")
    for holder, amount in taken:
        budget.give_back(holder, amount)
    assert (budget.used, budget.holders) == (0, 0)


@pytest.mark.parametrize(
    ("address", "holder"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3::4", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::9", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
    ],
)
def test_a_line_of_ipv6_is_one_holder(address: str, holder: str) -> None:
    assert holder_of(address) == holder


def test_no_more_connections_than_the_process_may_open_files() -> None:
    assert affordable(HttpLimits(connections=5000), 1024).connections == 768
    assert affordable(HttpLimits(connections=5000), 100_000).connections == 5000
