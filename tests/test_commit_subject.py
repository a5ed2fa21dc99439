"""The hook for commit messages: what it lets through, and what it names."""

import pytest

from tests.commit_subject import faults


def test_an_order_with_a_reason_is_let_through() -> None:
    assert not faults("Wait for the last wave before pruning\n\nPruned Services cut off pods.\n")


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        ("", "empty"),
        ("A" * 73, "73 characters"),
        ("fix it", "small letter"),
        ("Fix it.", "full stop"),
        ("Fix it\nat once", "second line"),
    ],
)
def test_a_fault_is_named(message: str, fault: str) -> None:
    assert any(fault in text for text in faults(message))
