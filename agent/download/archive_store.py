"""ArchiveStore keeps the unpacked archives of one source: the newest few of them.

An archive is named by the revision and by the digest of its bytes, so that a version that was
published again is another one. What was unpacked stays readable after a restart, and where the
server has deleted it, as long as it is among the newest.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from agent.download.archive import ArchivedFile, ArchiveError
from agent.download.services import SCRATCH
from agent.git.tree import GitTree
from agent.git.unpacked_tree import TreeFile, UnfitNameError, read_tree, write_tree
from bus.identity import token_of

_KEPT = 40
_PARTIAL = ".partial-"
_ABANDONED = 3600.0
"""Seconds after which nobody works in a scratch folder any more: its process was killed."""


class ArchiveStore:
    """Blocking: call it in a thread."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: dict[Path, GitTree] = {}

    def read(self, revision: str, digest: str) -> GitTree | None:
        """Open the files of a revision; an empty `digest` means whichever was unpacked last."""
        folder = self._path(revision, digest) if digest else self._newest(revision)
        if folder is None:
            return None
        found = self._open.get(folder) or read_tree(folder)
        if found is not None:
            self._open[folder] = found
            with suppress(OSError):
                os.utime(folder)
        return found

    def write(self, revision: str, digest: str, files: Iterable[ArchivedFile]) -> GitTree:
        """Keep the files of a revision; raises ArchiveError and OSError."""
        folder = self._path(revision, digest)
        self._folder.mkdir(parents=True, exist_ok=True)
        kept = (TreeFile(one.path, one.content, one.is_link) for one in files)
        try:
            write_tree(folder, kept)
        except UnfitNameError as error:
            raise ArchiveError(f"holds {str(error)[:100]!r}, which cannot be kept") from error
        self._open.pop(folder, None)
        self._drop_oldest()
        found = self.read(revision, digest)
        if found is None:
            raise ArchiveError("cannot be read back from the agent's disk")
        return found

    def _path(self, revision: str, digest: str) -> Path:
        return self._folder / f"{token_of(revision)}-{token_of(digest)}.git"

    def _newest(self, revision: str) -> Path | None:
        return max(self._folder.glob(f"{token_of(revision)}-*.git"), key=_used, default=None)

    def _drop_oldest(self) -> None:
        kept = sorted(self._folder.glob("*.git"), key=_used, reverse=True)
        leftovers = [one for one in self._folder.iterdir() if _is_leftover(one)]
        for folder in (*kept[_KEPT:], *leftovers):
            self._open.pop(folder, None)
            shutil.rmtree(folder, ignore_errors=True)


def _is_leftover(folder: Path) -> bool:
    if _PARTIAL in folder.name:
        return folder.is_dir()
    return folder.name.startswith(SCRATCH) and time.time() - _used(folder) > _ABANDONED


def _used(folder: Path) -> float:
    with suppress(OSError):
        return folder.stat().st_mtime
    return 0.0
