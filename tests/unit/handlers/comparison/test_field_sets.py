"""Laws of the set arithmetic over FieldsV1."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from handlers.comparison.earlier_managers import difference, intersection, union

_TOKENS = st.sampled_from(["f:a", "f:b", 'k:{"name":"x"}', 'v:"y"'])


def _below(children: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """A leaf, or children with or without the thing itself; never an empty tree with a dot."""
    some = st.dictionaries(_TOKENS, children, min_size=1, max_size=3)
    return st.one_of(st.just({}), some, some.map(lambda tree: {".": {}, **tree}))


SETS = st.dictionaries(_TOKENS, st.recursive(st.just({}), _below, max_leaves=8), max_size=3)


@given(SETS)
def test_nothing_is_left_of_a_set_without_itself(one: dict[str, Any]) -> None:
    assert difference(one, one) == {}
    assert union(one, one) == intersection(one, one) == one
    assert difference(one, {}) == union(one, {}) == union({}, one) == one


@given(SETS, SETS)
def test_a_difference_and_an_intersection_make_the_whole(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    assert union(difference(one, other), intersection(one, other)) == one
    assert difference(union(one, other), other) == difference(one, other)
    assert union(one, other) == union(other, one)


def test_a_map_itself_is_not_what_stands_in_it() -> None:
    whole, inside = {"f:labels": {".": {}, "f:a": {}}}, {"f:labels": {"f:a": {}}}

    assert difference(whole, inside) == {"f:labels": {}}
    assert difference(inside, {"f:labels": {}}) == inside
