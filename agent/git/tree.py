"""The files of one commit, read from the object database: no work tree, no checkout.

Folders are decoded once and kept for all commits of the mirror, because commits share most of
their folders. Of a wide folder, which is another one in each commit of a monorepo, single items are
looked up by libgit2, and it is decoded only to be listed. A blob is read as a whole and therefore
has a limit. Paths never follow symlinks: whoever evaluates files decides what a link may point to.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pygit2

from bus.identity import Revision
from bus.status import Reason
from handlers.ports import EntryKind, RepositoryError, TreeEntry

_KINDS = {"40000": EntryKind.TREE, "120000": EntryKind.SYMLINK, "160000": EntryKind.SUBMODULE}
_ID_BYTES = 20
MAX_BLOB = 10 * 1024 * 1024
_FOLDERS = 20_000
_WIDE = 256
"""Items of a folder from which on one is looked up without decoding the others."""
_WIDE_KEPT = 16
_SIZES = 4_096
"""What was listed is read next: one look at an object's header serves both."""
_TREE = pygit2.enums.ObjectType.TREE


class FolderEntry(NamedTuple):
    mode: str
    oid: str

    @property
    def kind(self) -> EntryKind:
        return _KINDS.get(self.mode, EntryKind.BLOB)

    @property
    def is_folder(self) -> bool:
        return self.mode == "40000"


def decode_folder(raw: bytes) -> dict[str, FolderEntry]:
    """`<mode> <name>`, a zero byte, 20 bytes of id, and again. Odd bytes become U+FFFD."""
    items: dict[str, FolderEntry] = {}
    at = 0
    while at < len(raw):
        space = raw.index(b" ", at)
        zero = raw.index(b"\0", space)
        name = raw[space + 1 : zero].decode(errors="replace")
        end = zero + 1 + _ID_BYTES
        items[name] = FolderEntry(raw[at:space].decode(), raw[zero + 1 : end].hex())
        at = end
    return items


class GitObjectReader:
    """Reads objects of one mirror; small caches of what never changes."""

    def __init__(self, repository: pygit2.Repository) -> None:
        self._repository = repository
        self._database = repository.odb
        self._folders: OrderedDict[str, Mapping[str, FolderEntry]] = OrderedDict()
        self._wide: OrderedDict[str, pygit2.Tree] = OrderedDict()
        self._sizes: OrderedDict[str, int] = OrderedDict()

    def folder(self, oid: str) -> Mapping[str, FolderEntry]:
        """The items of a tree object; RepositoryError where the mirror has no such tree."""
        known = self._folders.get(oid)
        if known is None:
            kind, raw = self._read(oid)
            if kind != _TREE:
                raise _missing(oid)
            try:
                known = self._folders[oid] = decode_folder(raw)
            except ValueError as error:
                raise _damaged(oid) from error
            if len(self._folders) > _FOLDERS:
                self._folders.popitem(last=False)
        return known

    def item(self, folder: str, name: str) -> FolderEntry | None:
        """One item of a tree object; RepositoryError where the mirror has no such tree."""
        known = self._folders.get(folder)
        wide = self._wide_tree(folder) if known is None else None
        # A name with bytes that are no text is known by its decoded form alone.
        if wide is None or "\ufffd" in name:
            return self.folder(folder).get(name)
        try:
            found = wide[name]
        except KeyError:
            return None
        return FolderEntry(f"{found.filemode:o}", str(found.id))

    def _wide_tree(self, oid: str) -> pygit2.Tree | None:
        known = self._wide.get(oid)
        if known is not None:
            return known
        try:
            found = self._repository.get(oid)
        except pygit2.GitError as error:
            raise _damaged(oid) from error
        if not isinstance(found, pygit2.Tree) or len(found) < _WIDE:
            return None
        self._wide[oid] = found
        if len(self._wide) > _WIDE_KEPT:
            self._wide.popitem(last=False)
        return found

    def size(self, oid: str) -> int:
        known = self._sizes.get(oid)
        if known is None:
            known = self._sizes[oid] = self._look(oid)
            if len(self._sizes) > _SIZES:
                self._sizes.popitem(last=False)
        return known

    def blob(self, oid: str) -> bytes:
        size = self.size(oid)
        if size > MAX_BLOB:
            message = f"a file of {size} bytes is larger than the limit of {MAX_BLOB} bytes"
            raise RepositoryError(Reason.OUTPUT_TOO_LARGE, message)
        return self._read(oid)[1]

    def _look(self, oid: str) -> int:
        try:
            return self._database.read_header(oid)[1]
        except (KeyError, ValueError) as error:
            raise _missing(oid) from error

    def _read(self, oid: str) -> tuple[int, bytes]:
        try:
            kind, content = self._database.read(oid)
        except (KeyError, ValueError) as error:
            raise _missing(oid) from error
        return kind, content


class GitTree:
    """handlers.ports.Tree over a root tree of a mirror."""

    def __init__(self, objects: GitObjectReader, root: str) -> None:
        self._objects = objects
        self._root = root

    def entry(self, path: str) -> TreeEntry | None:
        """None also for paths that leave the repository."""
        here = FolderEntry("40000", self._root)
        name = ""
        for name in _steps(path):
            if name == ".." or not here.is_folder:
                return None
            found = self._objects.item(here.oid, name)
            if found is None:
                return None
            here = found
        return self._entry(name, here)

    def list(self, path: str) -> tuple[TreeEntry, ...]:
        """The entries of a folder in Git's order; none where there is no such folder."""
        folder = self.entry(path)
        if folder is None or folder.kind is not EntryKind.TREE:
            return ()
        items = self._objects.folder(folder.oid).items()
        return tuple(self._entry(name, item) for name, item in items)

    def read(self, oid: str) -> bytes:
        return self._objects.blob(oid)

    def _entry(self, name: str, item: FolderEntry) -> TreeEntry:
        kind = item.kind
        sized = kind in (EntryKind.BLOB, EntryKind.SYMLINK)
        return TreeEntry(name, kind, item.oid, self._objects.size(item.oid) if sized else 0)


def _steps(path: str) -> list[str]:
    return [step for step in path.split("/") if step not in ("", ".")]


def _damaged(oid: str) -> RepositoryError:
    message = f"the folder {oid} of the commit is damaged: git fsck in a clone says more"
    return RepositoryError(Reason.FILE_NOT_FOUND, message)


def _missing(oid: str) -> RepositoryError:
    message = f"the mirror has no object {oid}: it is damaged; delete it, it is fetched again"
    return RepositoryError(Reason.FILE_NOT_FOUND, message)


def local_commit(folder: Path, revision: str) -> tuple[Revision, GitTree]:
    """Anything `git rev-parse` takes -> the commit and its files; raises RepositoryError."""
    try:
        repository = pygit2.Repository(str(folder))
        commit = repository.revparse_single(revision).peel(pygit2.Commit)
    except (pygit2.GitError, KeyError, ValueError) as e:
        message = f"{folder} has no revision {revision}: {e}"
        raise RepositoryError(Reason.REVISION_NOT_FOUND, message) from e
    return Revision(str(commit.id)), GitTree(GitObjectReader(repository), str(commit.tree.id))
