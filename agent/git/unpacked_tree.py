"""The files of an unpacked archive are kept as a Git tree, so that they are read as a commit's are.

Each archive has a bare repository of its own: it is written once, under another name until it is
whole, and deleted as a whole. Blocking.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import pygit2

from agent.git.tree import GitObjectReader, GitTree

_ROOT = "plumbline.tree"
_FILE, _LINK, _FOLDER = 0o100644, 0o120000, 0o040000


class TreeFile(NamedTuple):
    path: str
    content: bytes
    is_link: bool = False


class _Blob(NamedTuple):
    oid: pygit2.Oid
    mode: int


_Folder = dict[str, "_Blob | _Folder"]


class UnfitNameError(ValueError):
    """A name that no Git tree may hold, or a file and a folder of one name."""


def write_tree(folder: Path, files: Iterable[TreeFile]) -> None:
    """Write the files as the tree of `folder`, whole or not at all; raises UnfitNameError."""
    partial = folder.with_name(f"{folder.name}.partial-{uuid4().hex}")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        repository = pygit2.init_repository(str(partial), bare=True)
        root: _Folder = {}
        for file in files:
            mode = _LINK if file.is_link else _FILE
            _put(root, file.path, _Blob(repository.create_blob(file.content), mode))
        repository.config[_ROOT] = str(_written(repository, root))
        repository.free()
        shutil.rmtree(folder, ignore_errors=True)
        partial.rename(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def read_tree(folder: Path) -> GitTree | None:
    """Open the tree of `folder`; None where there is none."""
    with suppress(pygit2.GitError, KeyError):
        repository = pygit2.Repository(str(folder), pygit2.enums.RepositoryOpenFlag.BARE)
        return GitTree(GitObjectReader(repository), str(repository.config[_ROOT]))
    return None


def _put(root: _Folder, path: str, blob: _Blob) -> None:
    *above, name = path.split("/")
    here = root
    for step in above:
        found = here.setdefault(step, {})
        if isinstance(found, _Blob):
            raise UnfitNameError(path)
        here = found
    if name in here:
        raise UnfitNameError(path)
    here[name] = blob


def _written(repository: pygit2.Repository, folder: _Folder) -> pygit2.Oid:
    builder = repository.TreeBuilder()
    for name, item in folder.items():
        if isinstance(item, _Blob):
            oid, mode = item
        else:
            oid, mode = _written(repository, item), _FOLDER
        try:
            builder.insert(name, oid, mode)
        except (pygit2.GitError, ValueError) as error:
            raise UnfitNameError(name) from error
    return builder.write()
