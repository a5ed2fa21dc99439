from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from handlers.application.patch import merge_patch

VALUES = st.recursive(
    st.one_of(st.integers(0, 3), st.text("ab", max_size=2), st.lists(st.integers(0, 2))),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(st.sampled_from("abc"), VALUES, max_size=3)


def apply(target: Any, patch: Any) -> Any:
    """RFC 7386, section 2."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = apply(result.get(key), value)
    return result


@given(OBJECTS, OBJECTS)
def test_the_patch_leads_from_one_to_the_other(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    assert apply(before, merge_patch(before, after) or {}) == after


@given(OBJECTS)
def test_nothing_is_written_where_nothing_differs(same: dict[str, Any]) -> None:
    assert merge_patch(same, same) is None


def test_only_the_difference_is_sent() -> None:
    before = {"sync": {"status": "OutOfSync", "revision": "a"}, "health": {"status": "Healthy"}}
    after = {"sync": {"status": "Synced", "revision": "a"}}
    assert merge_patch(before, after) == {"sync": {"status": "Synced"}, "health": None}
