"""What a fact says of a commit: a name, a line, and nothing that should stay inside."""

import pytest

from bus.events import Commit
from handlers.report.public_commit import LONGEST_MESSAGE, public_commit


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        pytest.param("Jane Doe", "Jane Doe", id="name"),
        pytest.param("Jane Doe <jane@example.com>", "Jane Doe", id="name and address"),
        pytest.param("jane@example.com", "jane", id="address only"),
        pytest.param("<jane@example.com>", "jane", id="address in brackets"),
        pytest.param("", "", id="nobody"),
    ],
)
def test_an_author_is_a_name_and_no_address(written: str, expected: str) -> None:
    assert public_commit(Commit(author=written)).author == expected


@pytest.mark.parametrize(
    "message",
    [
        pytest.param("use https://bot:hunter2@git.example/x", id="url"),
        pytest.param("password: hunter2", id="named"),
        pytest.param("Authorization: Bearer hunter2hunter2", id="header"),
    ],
)
def test_what_looks_like_a_secret_is_not_said(message: str) -> None:
    assert "hunter2" not in public_commit(Commit(message=message)).message


def test_a_secret_at_the_edge_of_a_long_message_is_masked_before_it_is_cut() -> None:
    message = "x" * (LONGEST_MESSAGE - 20) + " https://bot:hunter2@git.example"
    assert "hunter2" not in public_commit(Commit(message=message)).message


def test_a_long_message_is_cut() -> None:
    expected = public_commit(Commit(message="word " * 100)).message
    assert len(expected) == LONGEST_MESSAGE
    assert expected.endswith("…")
