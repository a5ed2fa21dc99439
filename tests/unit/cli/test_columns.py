"""Tables in narrow terminals: what names a thing is never cut."""

from __future__ import annotations

import pytest
from rich.text import Text

from cli.remote.tables import Columns, wrapped

HEAD = ("Application", "Health", "Sync", "Agent", "Since", "Revision", "Why")
NAMES = ("argocd/guestbook", "argocd/" + "n" * 50)
ROWS = [
    [Text(it) for it in (name, "◆ Degraded", "⧉ OutOfSync", "laptop", "3 min", "5425ff4", "w" * 90)]
    for name in NAMES
]


def shown(width: int | None, *, sentence: bool = True) -> list[str]:
    columns = Columns(head=HEAD, kept=3, sentence=sentence)
    return [it.plain for it in columns.lines(ROWS, width)]


@pytest.mark.parametrize("width", [20, 40, 60, 80, 100, 120, 200, None])
def test_names_and_states_stand_whole_at_every_width(width: int | None) -> None:
    _, *rows = shown(width)
    for name, row in zip(NAMES, rows, strict=True):
        assert row.startswith((f"{name} ", f"{name}\n"))
        assert "◆ Degraded" in row
        assert "⧉ OutOfSync" in row


@pytest.mark.parametrize("width", [90, 100, 120, 160])
def test_a_row_fits_the_terminal_where_what_is_kept_does(width: int) -> None:
    assert all(len(line) <= width for line in shown(width))


@pytest.mark.parametrize("width", [20, 40, 60])
def test_a_row_that_does_not_fit_goes_on_at_the_border_of_a_column(width: int) -> None:
    _, row, _ = shown(width)
    assert row.splitlines()[0].split() == [NAMES[0]]
    assert "◆ Degraded" in row
    assert all(it.startswith("    ") and len(it) <= width for it in row.splitlines()[1:])


def test_words_are_wrapped_whole_with_an_indent() -> None:
    text = Text("Source  http://git.example/a-long-address.git apps main")
    assert wrapped(text, 30, 8).plain.splitlines() == [
        "Source  http://git.example/a-long-address.git",
        "        apps main",
    ]
    assert wrapped(text, 80, 8).plain == text.plain


def test_columns_leave_from_the_right() -> None:
    heads = [shown(width)[0].split() for width in (200, 110, 95, 60)]
    assert all(list(HEAD[: len(it)]) == it for it in heads)
    assert [len(it) for it in heads] == sorted((len(it) for it in heads), reverse=True)


def test_a_sentence_is_shortened_to_the_place_that_is_left() -> None:
    _, row, _ = shown(160)
    assert row.endswith("…")
    assert len(row) <= 160


def test_a_pipe_gets_every_column_whole() -> None:
    _, row, _ = shown(None)
    assert row.endswith("w" * 90)


def test_what_is_empty_in_every_row_is_left_out() -> None:
    columns = Columns(head=("Name", "Region", "Age"))
    rows = [[Text(it) for it in ("a", "", "1 s")]]
    assert [it.plain for it in columns.lines(rows, None)] == ["Name  Age", "a     1 s"]
