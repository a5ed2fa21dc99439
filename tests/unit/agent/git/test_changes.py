"""Changed paths of two trees of a real repository: the same answer as comparing all files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pygit2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pygit2.enums import FileMode

from agent.git.commits import changed_paths

Files = dict[str, tuple[str, FileMode]]

names = st.sampled_from(["a", "b", "c"])
paths = st.lists(names, min_size=1, max_size=3).map("/".join)
modes = st.sampled_from([FileMode.BLOB, FileMode.BLOB_EXECUTABLE, FileMode.LINK, FileMode.COMMIT])
trees = st.dictionaries(paths, st.tuples(st.sampled_from(["1", "2"]), modes), max_size=8).map(
    lambda files: {p: c for p, c in files.items() if not any(q.startswith(p + "/") for q in files)}
)


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[pygit2.Repository]:
    made = pygit2.init_repository(str(tmp_path), bare=True)
    yield made
    made.free()


def stored(repository: pygit2.Repository, files: Files) -> str:
    """Write a tree; a submodule's commit is in no database."""
    builder = repository.TreeBuilder()
    below: dict[str, Files] = {}
    for path, (content, mode) in files.items():
        name, slash, rest = path.partition("/")
        if slash:
            below.setdefault(name, {})[rest] = (content, mode)
        elif mode is FileMode.COMMIT:
            builder.insert(name, content * 40, mode)
        else:
            builder.insert(name, repository.create_blob(content.encode()), mode)
    for name, inner in below.items():
        builder.insert(name, stored(repository, inner), FileMode.TREE)
    return str(builder.write())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=trees, after=trees)
def test_it_names_exactly_the_files_that_differ(
    repository: pygit2.Repository, before: Files, after: Files
) -> None:
    """A new mode is a change, and so is a file where a folder was."""
    found = changed_paths(repository, stored(repository, before), stored(repository, after))
    expected = {p for p in before.keys() | after.keys() if before.get(p) != after.get(p)}
    assert found == frozenset(expected)


def test_a_name_that_is_no_text_is_found(repository: pygit2.Repository) -> None:
    empty = str(repository.TreeBuilder().write())
    raw = b"100644 a\xff\0" + bytes.fromhex(str(repository.create_blob(b"x")))
    odd = str(repository.odb.write(pygit2.enums.ObjectType.TREE, raw))
    assert changed_paths(repository, empty, odd) == {"a\ufffd"}


@pytest.mark.parametrize("raw", [b"100644 a", b"no tree", b"100644 \0" + bytes(20)])
def test_a_tree_that_cannot_be_read_has_no_answer(
    repository: pygit2.Repository, raw: bytes
) -> None:
    empty = str(repository.TreeBuilder().write())
    bad = repository.odb.write(pygit2.enums.ObjectType.TREE, raw)
    assert changed_paths(repository, empty, str(bad)) is None
    assert changed_paths(repository, empty, "1" * 40) is None
