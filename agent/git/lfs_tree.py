"""LfsTree reads the files of a commit, of Git LFS the objects in place of their pointers.

A pointer says digest and size of an object that the host keeps beside the repository. An object is
fetched when somebody reads it: until then FileNeededError asks for it.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple, Protocol

from msgspec.structs import replace

from agent.git.transport import Remote
from agent.git.tree import MAX_BLOB, GitTree
from bus.status import Reason
from handlers.ports import EntryKind, FileNeededError, RepositoryError, TreeEntry

_SHORTEST, _LONGEST = 120, 160
"""Bytes of a pointer."""
_POINTER = re.compile(
    rb"version https://git-lfs\.github\.com/spec/v1\n"
    rb"oid sha256:([0-9a-f]{64})\n"
    rb"size (0|[1-9][0-9]{0,14})\n"
)


class LfsPointer(NamedTuple):
    digest: str
    """sha256 in hexadecimal."""
    size: int

    @classmethod
    def parse(cls, content: bytes) -> LfsPointer | None:
        """Read a file; None where it is no pointer, and therefore a file as any other."""
        found = _POINTER.fullmatch(content)
        return cls(found[1].decode(), int(found[2])) if found else None


class LfsObjects(Protocol):
    """The objects of one repository."""

    def kept(self, pointer: LfsPointer) -> bytes | None:
        """The content, if it was fetched before. Blocking."""
        ...

    async def fetch(self, pointer: LfsPointer) -> None:
        """Fetch and keep the content; raises RepositoryError."""
        ...


LfsReader = Callable[[Path, Callable[[], Awaitable[Remote]]], LfsObjects]
"""Makes the objects of a repository, kept in a folder, read as a remote with a login of now."""


class LfsTree:
    """handlers.ports.CommitTree; only what Git itself has is read of a symbolic link."""

    def __init__(self, tree: GitTree, objects: LfsObjects) -> None:
        self._tree = tree
        self._objects = objects

    def entry(self, path: str) -> TreeEntry | None:
        found = self._tree.entry(path)
        return found and self._sized(found)

    def list(self, path: str) -> tuple[TreeEntry, ...]:
        return tuple(map(self._sized, self._tree.list(path)))

    def read(self, oid: str) -> bytes:
        content = self._tree.read(oid)
        pointer = LfsPointer.parse(content)
        if pointer is None:
            return content
        if pointer.size > MAX_BLOB:
            text = f"an object of LFS has {pointer.size} bytes; {MAX_BLOB} are the limit"
            raise RepositoryError(Reason.OUTPUT_TOO_LARGE, text)
        found = self._objects.kept(pointer)
        if found is None:
            raise FileNeededError(_needed(pointer), self._fetch(pointer))
        return found

    def _sized(self, entry: TreeEntry) -> TreeEntry:
        """The entry with the size of what is read of it: readers decide by it what is too much."""
        if entry.kind is not EntryKind.BLOB or not _SHORTEST <= entry.size < _LONGEST:
            return entry
        pointer = LfsPointer.parse(self._tree.read(entry.oid))
        return replace(entry, size=pointer.size) if pointer else entry

    def _fetch(self, pointer: LfsPointer) -> Callable[[], Awaitable[None]]:
        async def fetch() -> None:
            await self._objects.fetch(pointer)

        return fetch


def _needed(pointer: LfsPointer) -> str:
    return f"the object {pointer.digest} of LFS is not fetched yet; it is tried again"
