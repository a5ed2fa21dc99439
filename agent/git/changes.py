"""Which files differ between two commits, by walking both trees and comparing object ids.

Equal ids are equal content, so an equal subtree costs one comparison: a commit in a repository of
10,000 files reads a handful of trees. A rename is one path that went and one that came, which is
what a reader of either path wants to know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from agent.git.folder import Item

Read = Callable[[str], Mapping[str, Item]]
"""A tree's object id -> its items by name."""

_NOTHING: Mapping[str, Item] = {}


def changed_paths(read: Read, before: str, after: str) -> frozenset[str]:
    """Paths of files, symlinks and submodules that differ between two root trees."""
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


def _differing(read: Read, was: Item | None, now: Item | None, path: str) -> Iterator[str]:
    if _is_file(was) or _is_file(now):
        yield path
    yield from _changed(read, _folder(was), _folder(now), path + "/")


def _is_file(item: Item | None) -> bool:
    return item is not None and not item.is_folder


def _folder(item: Item | None) -> str:
    return item.oid if item is not None and item.is_folder else ""
