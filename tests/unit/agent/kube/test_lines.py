from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.kube.transport import Lines, LineTooLongError


@given(st.lists(st.binary(min_size=1).map(lambda it: it.replace(b"\n", b"."))), st.data())
def test_lines_do_not_depend_on_how_they_were_cut(lines: list[bytes], data: st.DataObject) -> None:
    text = b"".join(line + b"\n" for line in lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)))))
    reader = Lines()

    parts = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]

    assert [line for part in parts for line in reader.feed(part)] == lines


def test_an_unfinished_line_waits_for_its_end() -> None:
    reader = Lines()

    assert reader.feed(b"one\ntw") == [b"one"]
    assert reader.feed(b"o\n") == [b"two"]


def test_a_line_without_end_is_refused() -> None:
    reader = Lines(longest=10)

    with pytest.raises(LineTooLongError):
        reader.feed(b"x" * 11)
