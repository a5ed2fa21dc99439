"""DownloadDisk keeps what was downloaded of charts and artifacts, within a budget of bytes.

    charts/<repository and login>/<revision>-<digest>.git    the files of an archive
    charts/<repository and login>/index                      the index of a Helm repository
    charts/scratch/                                          what is gone with its process

When the budget is spent, what was not used for the longest time goes first, whoever used it; so
does what nobody used for a week. An Application uses its revision each time that it is looked at.
A tree that somebody reads right now stays until he lets go of it, even over the budget. Everything
can be downloaded again. Blocking: call it in a thread.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from threading import Lock
from typing import NamedTuple
from weakref import WeakValueDictionary

from agent.git.credential_identity import CredentialIdentities, open_identities
from agent.git.tree import GitTree
from agent.git.unpacked_tree import read_tree

KEPT_BYTES = 1024 * 1024 * 1024
_LONGEST_UNUSED = 7 * 24 * 3600.0
_UNPACKED_AT_ONCE = 2
_BLOCK = 512
"""Of `st_blocks`, whatever the file system's own is."""
_INDEX, _STAMP = "index", "index.json"
_LEFTOVERS = ("*.partial-*", "scratch-*", "chart-*", "layer-*", "registry-*")
"""What a process that was killed left in the folder of a repository, of earlier versions too."""


class _Kept(NamedTuple):
    used: float
    path: Path
    size: int


class DownloadDisk:
    """Make it with `open_disk`."""

    def __init__(self, folder: Path, identities: CredentialIdentities, budget: int) -> None:
        self.folder = folder
        self.identities = identities
        self.unpacking = asyncio.Semaphore(_UNPACKED_AT_ONCE)
        """Unpacking costs a core and room beside the budget, so few do it at once."""
        self._budget = budget
        self._began = time.time()
        self._lock = Lock()
        self._trees: WeakValueDictionary[Path, GitTree] = WeakValueDictionary()
        """The trees that somebody holds."""
        self._sizes: dict[Path, int] = {}

    @property
    def scratch_folder(self) -> Path:
        return self.folder / "scratch"

    def scratch(self) -> TemporaryDirectory[str]:
        return TemporaryDirectory(dir=self.scratch_folder)

    def tree(self, folder: Path) -> GitTree | None:
        """Open the tree of `folder`, which is used by that; None where there is none."""
        with self._lock:
            found = self._trees.get(folder) or read_tree(folder)
            if found is not None:
                self._trees[folder] = found
                use(folder)
        return found

    def replaced(self, folder: Path) -> None:
        """Forget what was known of a folder that was written anew."""
        with self._lock:
            self._trees.pop(folder, None)
            self._sizes.pop(folder, None)

    def evict(self) -> None:
        """Remove what was not used for the longest time, down to the budget."""
        removed = Path(mkdtemp(dir=self.scratch_folder))
        with self._lock:
            for kept in self._spare():
                with suppress(OSError):
                    if kept.path.name == _INDEX:
                        (kept.path.parent / _STAMP).unlink(missing_ok=True)
                    kept.path.rename(removed / f"{kept.path.parent.name}-{kept.path.name}")
                self._sizes.pop(kept.path, None)
                with suppress(OSError):  # another chart, or a download that has begun
                    kept.path.parent.rmdir()
        shutil.rmtree(removed, ignore_errors=True)

    def sweep(self) -> None:
        """Remove what a killed process left; nobody else works in this folder."""
        shutil.rmtree(self.scratch_folder, ignore_errors=True)
        self.scratch_folder.mkdir(parents=True, exist_ok=True)
        for pattern in _LEFTOVERS:
            for path in self.folder.glob(f"*/{pattern}"):
                if path.is_dir():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink(missing_ok=True)

    def _spare(self) -> Iterator[_Kept]:
        """Choose what goes, the longest unused first."""
        kept = sorted(self._kept())
        total, now = sum(one.size for one in kept), time.time()
        for one in kept:
            unused = now - max(one.used, self._began)
            if total <= self._budget and unused < _LONGEST_UNUSED:
                return
            if one.path not in self._trees:
                total -= one.size
                yield one

    def _kept(self) -> Iterator[_Kept]:
        for pattern in ("*.git", _INDEX):
            for path in self.folder.glob(f"*/{pattern}"):
                with suppress(OSError):
                    yield _Kept(path.stat().st_mtime, path, self._size(path))

    def _size(self, path: Path) -> int:
        if path.name == _INDEX:
            return _allocated(path)
        if path not in self._sizes:
            self._sizes[path] = sum(_allocated(one) for one in (path, *path.rglob("*")))
        return self._sizes[path]


def open_disk(folder: Path, budget: int = KEPT_BYTES) -> DownloadDisk:
    """Open the folder, without what a killed process left in it. Blocking. Raises OSError."""
    found = DownloadDisk(folder, open_identities(folder), budget)
    found.sweep()
    found.evict()
    return found


def use(path: Path) -> None:
    """Note that something was used now."""
    with suppress(OSError):
        os.utime(path)


def _allocated(path: Path) -> int:
    """Count whole blocks, and the bytes where a file system allocates its blocks later."""
    found = path.lstat()
    return max(found.st_blocks * _BLOCK, found.st_size)
