"""Commits: what people read of one, and the paths that differ between two.

Reading blocks, but in memory. Anybody may write anything into a commit: bytes that are no text, a
name of a megabyte, a time that no calendar has. What is read is cut to size here; what may be shown
of it is decided by the handlers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime

import pygit2

from agent.git.tree import FolderEntry
from bus.events import Commit
from bus.identity import Revision
from handlers.application.times import written

_LONGEST = 2000
Read = Callable[[str], Mapping[str, FolderEntry]]
"""A tree's object id -> its items by name."""

_NOTHING: Mapping[str, FolderEntry] = {}


def commit_of(repository: pygit2.Repository, revision: Revision) -> Commit | None:
    try:
        found = repository.get(revision)
    except ValueError:
        return None
    return _read(found) if isinstance(found, pygit2.Commit) else None


def _read(found: pygit2.Commit) -> Commit:
    return Commit(
        author=_text(found.author.raw_name),
        message=_text(_first_line(found.raw_message)),
        time=_time(found.commit_time),
    )


def _first_line(message: bytes) -> bytes:
    """As Git prints it: empty lines before it do not count."""
    return message.strip().partition(b"\n")[0]


def _text(raw: bytes) -> str:
    text = raw[:_LONGEST].decode("utf-8", "replace")
    return "".join(char if char.isprintable() else " " for char in text).strip()


def _time(seconds: int) -> str:
    try:
        return written(datetime.fromtimestamp(seconds, UTC))
    except (ValueError, OverflowError, OSError):
        return ""


def changed_paths(read: Read, before: str, after: str) -> frozenset[str]:
    """Paths of files, symlinks and submodules that differ between two root trees.

    Both trees are walked and object ids compared. Equal ids are equal content, so an equal
    subtree costs one comparison: a commit in a repository of 10,000 files reads a handful of
    trees. A rename is one path that went and one that came, which is what a reader of either
    path wants to know.

    Paths of files, symlinks and submodules that differ between two root trees.
    """
    return frozenset(_changed(read, before, after, ""))


def _changed(read: Read, before: str, after: str, prefix: str) -> Iterator[str]:
    """Either id may be empty: that side has no such folder."""
    if before == after:
        return
    old = read(before) if before else _NOTHING
    new = read(after) if after else _NOTHING
    for name in old.keys() | new.keys():
        was, now = old.get(name), new.get(name)
        if was != now:
            yield from _differing(read, was, now, prefix + name)


def _differing(
    read: Read, was: FolderEntry | None, now: FolderEntry | None, path: str
) -> Iterator[str]:
    if _is_file(was) or _is_file(now):
        yield path
    yield from _changed(read, _folder(was), _folder(now), path + "/")


def _is_file(item: FolderEntry | None) -> bool:
    return item is not None and not item.is_folder


def _folder(item: FolderEntry | None) -> str:
    return item.oid if item is not None and item.is_folder else ""
