"""A commit's files written down in a test: a Tree whose object ids are Git's own."""

import hashlib
import textwrap
from collections.abc import Mapping
from typing import NamedTuple

from handlers.ports import EntryKind, TreeEntry


class TreeLink(NamedTuple):
    target: str


class WrittenTree:
    def __init__(self, files: Mapping[str, str | bytes | TreeLink]) -> None:
        self._content: dict[str, bytes] = {}
        self._folders: dict[str, dict[str, TreeEntry]] = {"": {}}
        for path, written in files.items():
            self._add(path, written)

    def entry(self, path: str) -> TreeEntry | None:
        folder, _, name = path.rpartition("/")
        return self._folders.get(folder, {}).get(name)

    def list(self, path: str) -> tuple[TreeEntry, ...]:
        return tuple(self._folders[path].values())

    def read(self, oid: str) -> bytes:
        return self._content[oid]

    def _add(self, path: str, written: str | bytes | TreeLink) -> None:
        kind = EntryKind.SYMLINK if isinstance(written, TreeLink) else EntryKind.BLOB
        content = _bytes(written)
        oid = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()  # noqa: S324  Git's
        self._content[oid] = content
        folder, _, name = path.rpartition("/")
        self._folder(folder)[name] = TreeEntry(name, kind, oid, len(content))

    def _folder(self, path: str) -> dict[str, TreeEntry]:
        if path not in self._folders:
            above, _, name = path.rpartition("/")
            self._folder(above)[name] = TreeEntry(name, EntryKind.TREE, f"tree of {path}")
            self._folders[path] = {}
        return self._folders[path]


def _bytes(written: str | bytes | TreeLink) -> bytes:
    if isinstance(written, TreeLink):
        return written.target.encode()
    return textwrap.dedent(written).encode() if isinstance(written, str) else written
