"""Reading a commit: every kind of entry, and what is refused."""

from pathlib import Path

import pygit2
import pytest
from pygit2.enums import FileMode

from agent.git import tree as tree_module
from agent.git.tree import FolderEntry, GitObjectReader, GitTree, decode_folder
from bus.status import Reason
from handlers.ports import EntryKind, RepositoryError

COMMIT = "1" * 40


@pytest.fixture
def tree(tmp_path: Path) -> GitTree:
    repository = pygit2.init_repository(str(tmp_path), bare=True)
    inner = repository.TreeBuilder()
    inner.insert("b.yaml", repository.create_blob(b"hello"), FileMode.BLOB)
    root = repository.TreeBuilder()
    root.insert("a", inner.write(), FileMode.TREE)
    root.insert("link", repository.create_blob(b"a/b.yaml"), FileMode.LINK)
    root.insert("module", COMMIT, FileMode.COMMIT)
    root.insert("run", repository.create_blob(b"#!"), FileMode.BLOB_EXECUTABLE)
    return GitTree(GitObjectReader(repository), str(root.write()))


def test_every_kind_of_entry_is_told(tree: GitTree) -> None:
    found = {entry.name: (entry.kind, entry.size) for entry in tree.list("")}
    assert found == {
        "a": (EntryKind.TREE, 0),
        "link": (EntryKind.SYMLINK, 8),
        "module": (EntryKind.SUBMODULE, 0),
        "run": (EntryKind.BLOB, 2),
    }


@pytest.mark.parametrize("path", ["a/b.yaml", "./a/b.yaml", "a//b.yaml"])
def test_a_file_is_read_by_its_id(tree: GitTree, path: str) -> None:
    entry = tree.entry(path)
    assert entry is not None
    assert tree.read(entry.oid) == b"hello"


@pytest.mark.parametrize("path", ["absent", "a/absent", "run/below", "link/x", "../a", "a/../a"])
def test_what_is_not_there_is_none(tree: GitTree, path: str) -> None:
    assert tree.entry(path) is None
    assert tree.list(path) == ()


def test_the_root_is_a_folder(tree: GitTree) -> None:
    entry = tree.entry("")
    assert entry is not None
    assert entry.kind is EntryKind.TREE


def test_a_file_beyond_the_limit_is_refused(tree: GitTree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_module, "MAX_BLOB", 4)
    entry = tree.entry("a/b.yaml")
    assert entry is not None
    with pytest.raises(RepositoryError) as caught:
        tree.read(entry.oid)
    assert caught.value.reason is Reason.OUTPUT_TOO_LARGE


def test_an_object_that_is_not_there_is_an_error_of_the_repository(tree: GitTree) -> None:
    with pytest.raises(RepositoryError):
        tree.read("2" * 40)


def test_a_name_that_is_no_text_can_still_be_written_down() -> None:
    (name,) = decode_folder(b"100644 a\xff\x00" + bytes(20))
    assert name.encode() == "a\N{REPLACEMENT CHARACTER}".encode()
    assert decode_folder(b"") == {}
    assert FolderEntry("100755", "").kind is EntryKind.BLOB


def test_an_item_of_a_wide_folder_is_the_one_that_a_listing_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looked up without decoding, as if decoded: every kind of item, an odd name, none."""
    monkeypatch.setattr(tree_module, "_WIDE", 1)
    repository = pygit2.init_repository(str(tmp_path), bare=True)
    blob = bytes.fromhex(str(repository.create_blob(b"x")))
    folder = bytes.fromhex(str(repository.TreeBuilder().write()))
    raw = b"".join(
        mode + b" " + name + b"\0" + oid
        for mode, name, oid in (
            (b"100644", b"a\xff", blob),
            (b"100644", b"file", blob),
            (b"40000", b"folder", folder),
            (b"120000", b"link", blob),
            (b"160000", b"module", bytes.fromhex(COMMIT)),
            (b"100755", b"run", blob),
        )
    )
    oid = str(repository.odb.write(pygit2.enums.ObjectType.TREE, raw))
    listed = decode_folder(raw)
    looked_up = {name: GitObjectReader(repository).item(oid, name) for name in listed}
    assert looked_up == listed
    assert GitObjectReader(repository).item(oid, "absent") is None


@pytest.mark.parametrize("raw", [b"100644 a", b"no tree", b"100644 a\0short"])
def test_a_damaged_folder_is_refused_with_its_id(tmp_path: Path, raw: bytes) -> None:
    repository = pygit2.init_repository(str(tmp_path), bare=True)
    oid = str(repository.odb.write(pygit2.enums.ObjectType.TREE, raw))
    with pytest.raises(RepositoryError, match=oid):
        GitTree(GitObjectReader(repository), oid).entry("a")
