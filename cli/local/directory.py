"""A directory on disk behind the port `Tree`, so that uncommitted files can be rendered.

Object ids are Git's own (SHA-1 of the blob), computed when a file is asked for. Nothing outside the
folder is answered; symbolic links are reported as such and never followed.
"""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Sequence
from pathlib import Path

from bus.status import Reason
from handlers.ports import EntryKind, RepositoryError, TreeEntry

LARGEST_FILE = 10 * 1024 * 1024
_NOT_OURS = frozenset({".git"})


class DirectoryTree:
    def __init__(self, root: Path) -> None:
        self._root = root
        self._contents: dict[str, bytes] = {}

    def entry(self, path: str) -> TreeEntry | None:
        steps = [step for step in path.split("/") if step not in ("", ".")]
        if ".." in steps or _NOT_OURS & set(steps) or self._leads_away(steps):
            return None
        return self._entry(self._root.joinpath(*steps))

    def list(self, path: str) -> tuple[TreeEntry, ...]:
        folder = self.entry(path)
        if folder is None or folder.kind is not EntryKind.TREE:
            return ()
        inside = sorted((self._root / path).iterdir(), key=lambda found: found.name)
        entries = (self._entry(found) for found in inside if found.name not in _NOT_OURS)
        return tuple(entry for entry in entries if entry is not None)

    def read(self, oid: str) -> bytes:
        return self._contents[oid]

    def _leads_away(self, steps: Sequence[str]) -> bool:
        """Tell whether a folder of the path is a symbolic link: Git has no files behind one."""
        return any(self._root.joinpath(*steps[:end]).is_symlink() for end in range(1, len(steps)))

    def _entry(self, place: Path) -> TreeEntry | None:
        try:
            mode = place.lstat().st_mode
        except (OSError, ValueError):
            return None
        if stat.S_ISDIR(mode):
            return TreeEntry(place.name, EntryKind.TREE, "")
        if stat.S_ISLNK(mode):
            return self._kept(place, EntryKind.SYMLINK, str(place.readlink()).encode())
        return self._kept(place, EntryKind.BLOB, _content(place)) if stat.S_ISREG(mode) else None

    def _kept(self, place: Path, kind: EntryKind, content: bytes) -> TreeEntry:
        header = b"blob %d\0" % len(content)
        oid = hashlib.sha1(header + content, usedforsecurity=False).hexdigest()
        self._contents[oid] = content
        return TreeEntry(place.name, kind, oid, len(content))


def _content(place: Path) -> bytes:
    size = place.stat().st_size
    if size > LARGEST_FILE:
        message = f"{place}: a file of {size} bytes is larger than the limit of {LARGEST_FILE}"
        raise RepositoryError(Reason.OUTPUT_TOO_LARGE, message)
    return place.read_bytes()
