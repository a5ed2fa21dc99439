from __future__ import annotations

from bus.status import ConditionType
from handlers.application.status import Condition, blocking, of_type, revised, without

THEN, NOW = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
COMPARISON, SYNC = ConditionType.COMPARISON_ERROR, ConditionType.SYNC_ERROR


def condition(type_: str, message: str, at: str = "") -> Condition:
    return Condition(type=type_, message=message, last_transition_time=at)


def test_an_unchanged_message_keeps_its_time() -> None:
    before = (condition(COMPARISON, "gone", THEN),)
    assert revised(before, {COMPARISON}, [condition(COMPARISON, "gone")], NOW) == before


def test_a_new_message_gets_the_new_time() -> None:
    before = (condition(COMPARISON, "gone", THEN),)
    after = revised(before, {COMPARISON}, [condition(COMPARISON, "refused")], NOW)
    assert after == (condition(COMPARISON, "refused", NOW),)


def test_what_is_not_found_any_more_is_removed_and_foreign_types_stay() -> None:
    before = (condition(COMPARISON, "gone", THEN), condition(SYNC, "failed", THEN))
    assert revised(before, {COMPARISON}, [], NOW) == (condition(SYNC, "failed", THEN),)
    assert without(before, {SYNC}) == (condition(COMPARISON, "gone", THEN),)


def test_the_order_found_does_not_matter() -> None:
    found = [condition(SYNC, "b"), condition(SYNC, "a")]
    assert revised((), {SYNC}, found, NOW) == revised((), {SYNC}, reversed(found), NOW)


def test_only_unknown_desired_states_block() -> None:
    both = (condition(COMPARISON, "gone"), condition(SYNC, "failed"))
    assert blocking(both) == of_type(both, COMPARISON)
