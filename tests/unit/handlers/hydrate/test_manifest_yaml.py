"""Manifests as YAML: every value comes back as it was, by parsers of both versions of YAML."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from handlers.hydrate.manifest_yaml import manifest_yaml

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(st.lists(st.dictionaries(st.text(), VALUES, min_size=1), min_size=1, max_size=3))
def test_what_is_written_is_read_again(objects: list[dict[str, Any]]) -> None:
    assert list(yaml.safe_load_all(manifest_yaml(objects))) == objects


WORDS = ("y", "n", "yes", "NO", "on", "Off", "true", "null", "~")
NUMBERS = ("1e3", "1_000", "0o17", "0x1f", "017", "12:30", ".5", "-1", "+1", "2026-01-01", ".inf")
SIGNS = ("=", "<<", "@a", "`a", "a:", "!a", "&a", "*a", "-", "?", "|", ">", "%", "#", "{a", "[a")
SPACES = ("", " ", "a #b", "a: b", "a ", "\ta", "a\tb", "1 a", "a\n\n", " a\nb", "a \nb")


@pytest.mark.parametrize("text", [*WORDS, *NUMBERS, *SIGNS, *SPACES])
def test_a_text_that_a_parser_may_take_for_something_else_is_quoted(text: str) -> None:
    assert manifest_yaml([{"a": text}]).startswith(b'---\na: "')


def test_people_can_read_it() -> None:
    objects = [{"b": {"list": ["x", {"k": 1}], "text": "one\ntwo\n"}, "a": "plain/text-1.0"}]
    assert manifest_yaml([*objects, {"c": []}]).decode() == (
        "---\na: plain/text-1.0\nb:\n  list:\n  - x\n  - k: 1\n  text: |\n    one\n    two\n"
        "---\nc: []\n"
    )


def test_nothing_is_nothing() -> None:
    assert manifest_yaml([]) == b""
