"""A commit of a repository on disk, with a work tree or without."""

from pathlib import Path

import pytest

from agent.git.tree import local_commit
from handlers.ports import RepositoryError
from playground import gitstore


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    gitstore.create_repository(tmp_path / "shop.git", "main")
    gitstore.commit(tmp_path / "shop.git", {"a": b"1"}, "main", "first")
    gitstore.commit(tmp_path / "shop.git", {"a": b"2"}, "main", "second")
    return tmp_path / "shop.git"


@pytest.mark.parametrize(("revision", "content"), [("HEAD", b"2"), ("main~1", b"1")])
def test_any_spelling_of_a_revision_opens_it(folder: Path, revision: str, content: bytes) -> None:
    _, tree = local_commit(folder, revision)
    entry = tree.entry("a")
    assert entry is not None
    assert tree.read(entry.oid) == content


def test_a_folder_without_a_repository_says_so(tmp_path: Path) -> None:
    with pytest.raises(RepositoryError, match="has no revision HEAD"):
        local_commit(tmp_path, "HEAD")
