"""ArchiveStore keeps the unpacked archives of one source.

An archive is named by the revision and by the digest of its bytes, so that a version that was
published again is another one. What was unpacked stays readable after a restart, and where the
server has deleted it, as long as there is room for what is used (DownloadDisk).
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from agent.download.archive import ArchivedFile, ArchiveError
from agent.download.disk import DownloadDisk, use
from agent.git.tree import GitTree
from agent.git.unpacked_tree import TreeFile, UnfitNameError, write_tree
from bus.identity import token_of


class ArchiveStore:
    """Blocking: call it in a thread."""

    def __init__(self, folder: Path, disk: DownloadDisk) -> None:
        self._folder = folder
        self._disk = disk

    def read(self, revision: str, digest: str) -> GitTree | None:
        """Open the files of a revision; an empty `digest` means whichever was used last."""
        folder = self._path(revision, digest) if digest else self._newest(revision)
        return self._disk.tree(folder) if folder else None

    def use(self, revision: str) -> None:
        """Note that an Application follows the revision, so that others give way first."""
        if folder := self._newest(revision):
            use(folder)

    def write(self, revision: str, digest: str, files: Iterable[ArchivedFile]) -> GitTree:
        """Keep the files of a revision; raises ArchiveError and OSError."""
        folder = self._path(revision, digest)
        self._folder.mkdir(parents=True, exist_ok=True)
        kept = (TreeFile(one.path, one.content, one.is_link) for one in files)
        try:
            write_tree(folder, kept)
        except UnfitNameError as error:
            raise ArchiveError(f"holds {str(error)[:100]!r}, which cannot be kept") from error
        self._disk.replaced(folder)
        found = self.read(revision, digest)
        if found is None:
            raise ArchiveError("cannot be read back from the agent's disk")
        self._disk.evict()
        return found

    def _path(self, revision: str, digest: str) -> Path:
        return self._folder / f"{token_of(revision)}-{token_of(digest)}.git"

    def _newest(self, revision: str) -> Path | None:
        return max(self._folder.glob(f"{token_of(revision)}-*.git"), key=_used, default=None)


def _used(folder: Path) -> float:
    with suppress(OSError):
        return folder.stat().st_mtime
    return 0.0
