"""Objects as YAML: whatever an object holds, it is read back as the same object."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.local.manifest_files import read_manifests
from cli.manifest_text import manifest_text

LIKE_SOMETHING_ELSE = ("1e3", "0x1F", "1_000", "yes", "null", "~", "12:30:45", "2026-11-22", "")
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from(LIKE_SOMETHING_ELSE),
    st.text(st.characters(exclude_categories=("Cs", "Cc"), include_characters="\n\t")),
)
NAMES = st.text(st.characters(codec="ascii", categories=("L", "N")), min_size=1)
VALUES = st.recursive(
    LEAVES, lambda inner: st.one_of(st.lists(inner), st.dictionaries(NAMES, inner)), max_leaves=12
)


def read_back(text: str) -> list[dict[str, Any]]:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "objects.yaml"
        file.write_text(text, "utf-8")
        return [dict(it.body) for it in read_manifests(str(file))]


@given(st.dictionaries(NAMES, VALUES))
def test_what_is_written_is_read_back(data: dict[str, Any]) -> None:
    one = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": data}
    assert read_back(manifest_text([one, one])) == [one, one]


@pytest.mark.parametrize("text", LIKE_SOMETHING_ELSE)
def test_a_text_that_looks_like_something_else_is_quoted(text: str) -> None:
    assert manifest_text([{"a": text}]) == f"---\na: '{text}'\n"


def test_a_text_of_several_lines_is_a_block() -> None:
    assert manifest_text([{"a": "one\ntwo\n"}]) == "---\na: |\n  one\n  two\n"
