"""A hydrated commit is built here in a bare repository: objects only, no ref is moved. Blocking.

Only files below the Applications' folders and two in the root are written, and never through a
symlink, a file or a submodule that stands where a folder should be. What is there already stays as
it is, so that the same content twice is one commit.
"""

from __future__ import annotations

from pathlib import PurePosixPath

import msgspec
import pygit2
from pygit2.enums import FileMode

from agent.git.refs import BRANCHES
from bus.identity import Revision
from bus.status import Reason
from handlers.ports import RepositoryError
from handlers.ports.branches import BranchChange, HydratedFolder

NOTES = "refs/notes/hydrator.metadata"
MANIFEST, METADATA, README, ATTRIBUTES = (
    "manifest.yaml",
    "hydrator.metadata",
    "README.md",
    ".gitattributes",
)
_GENERATED = b"*/README.md linguist-generated=true\n*/hydrator.metadata linguist-generated=true\n"
"""By which hosts fold these files in reviews."""
_NOTE_MESSAGE = "Note the dry commit"
_FILES = (FileMode.BLOB, FileMode.BLOB_EXECUTABLE, FileMode.LINK)


class PreparedCommit(msgspec.Struct, frozen=True, kw_only=True):
    """Objects that are to be pushed, in order, each as a refspec; none where all is there."""

    commit: Revision
    is_new: bool
    branches: tuple[str, ...] = ()
    note: str = ""


def prepare(repository: pygit2.Repository, branch: str, change: BranchChange) -> PreparedCommit:
    """Build what the branch lacks. Raises RepositoryError where something is in the way."""
    author = pygit2.Signature(change.author_name, change.author_email)
    head, pushed = _head(repository, branch), list[str]()
    if head is None and change.base != branch:
        head = _head(repository, change.base)
        if head is None:
            head = _initial(repository, change, author)
            pushed.append(f"{head.id}:{BRANCHES}{change.base}")
    tree = _tree(repository, head, change)
    is_new = head is None or tree != str(head.tree_id)
    if head is None or is_new:
        parents = [head.id] if head is not None else []
        made = repository.create_commit(
            None, author, author, change.message, pygit2.Oid(hex=tree), parents
        )
        commit = str(made)
    else:
        commit = str(head.id)
    if is_new or _head(repository, branch) is None:
        pushed.append(f"{commit}:{BRANCHES}{branch}")
    return PreparedCommit(
        commit=Revision(commit),
        is_new=is_new,
        branches=tuple(pushed),
        note=_note(repository, commit, change, author),
    )


def _head(repository: pygit2.Repository, branch: str) -> pygit2.Commit | None:
    found = repository.references.get(f"{BRANCHES}{branch}")
    return found.peel(pygit2.Commit) if found is not None else None


def _initial(
    repository: pygit2.Repository, change: BranchChange, author: pygit2.Signature
) -> pygit2.Commit:
    """Make an empty commit, from which a branch begins that is proposed for review."""
    empty = repository.TreeBuilder().write()
    message = f"Initial commit for {change.base}\n"
    made = repository[repository.create_commit(None, author, author, message, empty, [])]
    return made.peel(pygit2.Commit)


def _tree(repository: pygit2.Repository, head: pygit2.Commit | None, change: BranchChange) -> str:
    index = pygit2.Index()
    tree = head.tree if head is not None else None
    if tree is not None:
        index.read_tree(tree)
    differs = False
    for folder in change.folders:
        if tree is not None:
            _check(tree, folder.path)
        if _content(tree, f"{folder.path}/{MANIFEST}") != folder.manifest:
            differs = True
            _check_hydrated(tree, folder.path)
            _put_folder(repository, index, folder)
    if differs:
        if _kind(tree, METADATA) not in (None, *_FILES):
            raise _in_the_way(METADATA)
        _put(repository, index, METADATA, change.metadata)
        if _kind(tree, ATTRIBUTES) is None:
            _put(repository, index, ATTRIBUTES, _GENERATED)
    return str(index.write_tree(repository))


def _check(tree: pygit2.Tree, folder: str) -> None:
    """Refuse a path that leads through anything but folders."""
    parts = PurePosixPath(folder).parts
    for depth in range(1, len(parts) + 1):
        path = "/".join(parts[:depth])
        if _kind(tree, path) not in (None, FileMode.TREE):
            raise _in_the_way(path)
    for name in (MANIFEST, METADATA, README):
        if _kind(tree, f"{folder}/{name}") not in (None, *_FILES):
            raise _in_the_way(f"{folder}/{name}")


def _check_hydrated(tree: pygit2.Tree | None, folder: str) -> None:
    """Refuse to write over what a person has in the folder, which was never hydrated."""
    if _kind(tree, f"{folder}/{METADATA}") is not None:
        return
    for path in (f"{folder}/{MANIFEST}", f"{folder}/{README}"):
        if _kind(tree, path) in (FileMode.BLOB, FileMode.BLOB_EXECUTABLE):
            message = (
                f"{path!r} in the branch was written by somebody else: there is no {METADATA} "
                "beside it; remove it from the branch, or change "
                "spec.sourceHydrator.syncSource.path"
            )
            raise RepositoryError(Reason.INVALID_SPEC, message)


def _in_the_way(path: str) -> RepositoryError:
    message = (
        f"{path!r} in the branch is a file, a symlink, a folder or a submodule where the manifests "
        "need something else; remove it from the branch, or change "
        "spec.sourceHydrator.syncSource.path"
    )
    return RepositoryError(Reason.INVALID_SPEC, message)


def _put_folder(repository: pygit2.Repository, index: pygit2.Index, folder: HydratedFolder) -> None:
    _put(repository, index, f"{folder.path}/{MANIFEST}", folder.manifest)
    _put(repository, index, f"{folder.path}/{METADATA}", folder.metadata)
    _put(repository, index, f"{folder.path}/{README}", folder.readme)


def _put(repository: pygit2.Repository, index: pygit2.Index, path: str, content: bytes) -> None:
    index.add(pygit2.IndexEntry(path, repository.create_blob(content), FileMode.BLOB))


def _kind(tree: pygit2.Tree | None, path: str) -> FileMode | None:
    if tree is None or path not in tree:
        return None
    return FileMode(tree[path].filemode)


def _content(tree: pygit2.Tree | None, path: str) -> bytes | None:
    """Read a file; None for what is no plain one, such as a symlink."""
    if tree is None or _kind(tree, path) is not FileMode.BLOB:
        return None
    found = tree[path]
    return found.data if isinstance(found, pygit2.Blob) else None


def _note(
    repository: pygit2.Repository, commit: str, change: BranchChange, author: pygit2.Signature
) -> str:
    """Write the note of the commit; empty where it says so already."""
    try:
        if repository.lookup_note(commit, NOTES).message.encode() == change.note:
            return ""
    except (KeyError, UnicodeDecodeError):
        pass  # there is none, or one that somebody else wrote
    force = True  # of the note alone: it is pushed without
    repository.create_note(change.note.decode(), author, author, commit, NOTES, force)
    return f"{repository.references[NOTES].target}:{NOTES}"
