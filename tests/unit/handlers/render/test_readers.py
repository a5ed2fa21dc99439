"""Who may be touched by changed files: never too few (a law), and not everybody (examples)."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.store.render_store import PathReaders
from bus.identity import AppKey
from handlers.render.read_set import EscapedPathError, holds, listing, locate, seen_by
from tests.unit.agent.renderer.written_tree import TreeLink, WrittenTree

Files = dict[str, str | bytes | TreeLink]

APP = AppKey("argocd", "web")
names = st.sampled_from(["a", "b", "c"])
paths = st.lists(names, min_size=1, max_size=3).map("/".join)
contents = st.one_of(
    st.sampled_from(["1", "2"]), st.sampled_from(["a", "b", "../c", "c/a"]).map(TreeLink)
)
trees = st.dictionaries(paths, contents, max_size=7).map(
    lambda files: {p: c for p, c in files.items() if not any(q.startswith(p + "/") for q in files)}
)
wishes = st.lists(st.tuples(paths, st.booleans()), min_size=1, max_size=5)


def read(tree: WrittenTree, wished: list[tuple[str, bool]]) -> dict[str, str]:
    """A read set as the sandbox records it."""
    seen: dict[str, str] = {}
    for path, listed in wished:
        try:
            place = locate(tree, path)
        except EscapedPathError:
            continue
        seen |= seen_by(tree, path, place)
        if listed and place.kind == "tree":
            names = listing(tree.list(place.path))
            seen |= {f"{path}/": names, f"{place.path}/": names}
    return seen


def readers_of(read_set: Mapping[str, str]) -> PathReaders:
    readers = PathReaders()
    readers.add(APP, read_set)
    return readers


@given(trees, trees, wishes)
def test_whoever_would_see_something_else_is_found(
    before: Files, after: Files, wished: list[tuple[str, bool]]
) -> None:
    read_set = read(WrittenTree(before), wished)
    changed = {p for p in before.keys() | after.keys() if before.get(p) != after.get(p)}
    if not holds(read_set, WrittenTree(after)):
        assert APP in readers_of(read_set).of(changed)


@given(trees, wishes)
def test_who_is_removed_is_found_no_more(tree: Files, wished: list[tuple[str, bool]]) -> None:
    read_set = read(WrittenTree(tree), wished)
    readers = readers_of(read_set)
    readers.remove(APP, read_set)
    assert readers.of(tree) == frozenset()


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ("apps/web/x.yaml", True),
        ("apps/web/new.yaml", True),
        ("apps/api/x.yaml", False),
        ("README.md", False),
        ("base/values.yaml", True),
        ("base/other.yaml", False),
    ],
)
def test_only_readers_of_the_path_are_found(changed: str, found: bool) -> None:  # noqa: FBT001  a table
    readers = readers_of(
        {"apps/web/x.yaml": "1", "apps/web/": "names", "base/values.yaml": "2", "": "tree"}
    )
    assert (APP in readers.of([changed])) is found
