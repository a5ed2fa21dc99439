from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.kube.answer_bytes import AnswerBytes, AnswerShare
from agent.kube.lines import Lines, LineTooLongError
from handlers.ports import ClusterUnreachableError


def alone() -> AnswerShare:
    return AnswerShare(AnswerBytes(1 << 40))


@given(st.lists(st.binary(min_size=1).map(lambda it: it.replace(b"\n", b"."))), st.data())
def test_lines_do_not_depend_on_how_they_were_cut(lines: list[bytes], data: st.DataObject) -> None:
    text = b"".join(line + b"\n" for line in lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)))))
    reader = Lines(alone())

    parts = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]

    assert [line for part in parts for line in reader.feed(part)] == lines


def test_an_unfinished_line_waits_for_its_end() -> None:
    reader = Lines(alone())

    assert reader.feed(b"one\ntw") == [b"one"]
    assert reader.feed(b"o\n") == [b"two"]


def test_a_line_without_end_is_refused() -> None:
    reader = Lines(alone(), longest=10)

    with pytest.raises(LineTooLongError):
        reader.feed(b"x" * 11)


def test_lines_without_end_are_counted_together_until_their_watches_end() -> None:
    held = AnswerBytes(15)
    with held.share() as one, held.share() as other:
        Lines(one).feed(b"x" * 10)
        Lines(other).feed(b"x" * 5)
        with pytest.raises(ClusterUnreachableError, match="more than 15 bytes"):
            Lines(other).feed(b"x" * 6)
    assert held.held == 0


def test_a_line_that_ended_is_counted_no_more() -> None:
    held = AnswerBytes(15)
    with held.share() as share:
        reader = Lines(share)
        for _ in range(3):
            assert reader.feed(b"x" * 5) == []
            assert reader.feed(b"x" * 5 + b"\n") == [b"x" * 10]
        assert held.held == 0
