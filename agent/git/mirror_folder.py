"""The folders of mirrors: how each is named, and which of an earlier version are removed."""

from __future__ import annotations

import shutil
from pathlib import Path

from agent.git.mirror import mark_of
from bus.identity import token_of
from handlers.ports import RepositoryAccess


def mirror_token(repository: RepositoryAccess) -> str:
    """A name for the folder: it says nothing of a login."""
    login = repository.login
    written = f"{login.username}\n{login.password}" if login else ""
    return token_of(f"mirror:{repository.url}\n{repository.project}\n{written}")


def lfs_folder(folder: Path, repository: RepositoryAccess) -> Path:
    """Name the folder of the objects of LFS: who reads the mirror reads them."""
    return folder / f"{mirror_token(repository)}.lfs"


def discard_leftovers(folder: Path) -> None:
    """Remove what nobody reads: mirrors without a mark, and halves of fetched objects of LFS.

    Mirrors without a mark are of a version that let several repositories share one: nothing in
    them is certain. A fetch of objects that was killed leaves its folder.
    """
    for path in folder.glob("*.git"):
        if not mark_of(path):
            shutil.rmtree(path, ignore_errors=True)
    for path in folder.glob("*.lfs/*"):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
