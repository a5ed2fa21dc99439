"""Foresight predicts a worker's certain questions, whose answers go with the request. Pure.

A folder of manifests is looked at, listed, and read file by file: a short write there and back for
each. Where no pattern chooses among the files all of that is known beforehand. Nothing is named
here that would not be asked in any case, so the read set stays exact without a worker's word for
it; what is not named, or would be too much at once, is asked as ever.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from typing import NamedTuple

from handlers.ports import CommitTree, EntryKind, TreeEntry
from handlers.ports.rendering import Recipe, SourceType

MAX_FILES = 64
MAX_BYTES = 256 * 1024
_READ = frozenset((".yaml", ".yml", ".json", ".jsonnet"))
"""As in sandbox/worker/internal/directory."""
_OVERRIDE = ".argocd-source"
"""A worker asks for few files of such a name, so none is foreseen."""


class ForeseenQuestion(NamedTuple):
    ask: str
    path: str


def certain(recipe: Recipe, tree: CommitTree) -> tuple[ForeseenQuestion, ...]:
    """The questions that the render of `recipe` begins with."""
    chosen = recipe.directory.include or recipe.directory.exclude
    if recipe.type is not SourceType.DIRECTORY or chosen or not _is_plain(recipe.path):
        return ()
    folder = tree.entry(recipe.path) if recipe.path else None
    if recipe.path and (folder is None or folder.kind is not EntryKind.TREE):
        return ()
    files = [one for one in tree.list(recipe.path) if _is_read(one)]
    looks = (ForeseenQuestion("stat", recipe.path), ForeseenQuestion("list", recipe.path))
    if len(files) > MAX_FILES or sum(one.size for one in files) > MAX_BYTES:
        return looks
    return (*looks, *_reads(recipe.path, files))


def _reads(folder: str, files: Sequence[TreeEntry]) -> tuple[ForeseenQuestion, ...]:
    return tuple(ForeseenQuestion("read", posixpath.join(folder, one.name)) for one in files)


def _is_read(entry: TreeEntry) -> bool:
    if entry.name.startswith(_OVERRIDE):
        return False
    return entry.kind is EntryKind.BLOB and entry.name[entry.name.rfind(".") :] in _READ


def _is_plain(path: str) -> bool:
    """The worker cleans what a user wrote; only what is clean already is foreseen."""
    return path == "" or (posixpath.normpath(path) == path and path[0] not in "/.")
