"""Read set: the files and folders that a render looked at, with what it saw there. Pure.

A later commit can be asked whether the same render would see the same, without rendering.

A mapping of keys to what was seen there, symbolic links followed:

    path      -> object id of the file, "tree" for a folder, "" where there was nothing;
                 where links were followed, "@" and the place they lead to
    path + /  -> digest of the names and kinds in that folder ("/" is the root's listing)

Folders are recorded by their names only: a change inside a file of a listed folder is seen by the
file's own key, if anybody read it. The keys hold every place that was touched on the way (the
link, what it leads to), so that `keys_touched` can find the readers of a changed file in an
index.
"""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Iterable, Mapping
from typing import Protocol

import msgspec

MAX_LINKS = 40
FOLDER = "tree"


class ReadEntry(Protocol):
    """What is needed of `handlers.ports.TreeEntry`; kinds are blob, tree, symlink and submodule."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def oid(self) -> str: ...
    @property
    def size(self) -> int: ...


class ReadableTree(Protocol):
    """What is needed of `handlers.ports.CommitTree`."""

    def entry(self, path: str) -> ReadEntry | None: ...
    def list(self, path: str) -> Iterable[ReadEntry]: ...
    def read(self, oid: str) -> bytes: ...


class EscapedPathError(Exception):
    """A path or a symbolic link leads out of the repository."""

    def __init__(self, path: str, target: str = "") -> None:
        by_link = f": it is a symbolic link to {target}" if target else ""
        super().__init__(f"{path} leads out of the repository{by_link}")
        self.path = path


class ResolvedPath(msgspec.Struct, frozen=True, kw_only=True):
    """Where a path leads after following links; `kind` is empty where there is nothing."""

    path: str
    kind: str = ""
    oid: str = ""
    size: int = 0
    links: tuple[str, ...] = ()

    @property
    def seen(self) -> str:
        """The value of this place in a read set."""
        here = FOLDER if self.kind == FOLDER else self.oid
        return f"{here}@{self.path}" if self.links else here


def locate(tree: ReadableTree, path: str) -> ResolvedPath:
    """Follow `path` to what it means. Raises EscapedPathError."""
    links: tuple[str, ...] = ()
    if ".." in path.split("/"):
        raise EscapedPathError(path)
    if path.startswith("/") or "\0" in path:
        return ResolvedPath(path=path)
    while len(links) <= MAX_LINKS:
        if path == "":
            return ResolvedPath(path="", kind=FOLDER, links=links)
        found = tree.entry(path)
        if found is not None and found.kind != "symlink":
            return ResolvedPath(
                path=path, kind=found.kind, oid=found.oid, size=found.size, links=links
            )
        link = path if found is not None else _link_above(tree, path)
        if link is None:
            return ResolvedPath(path=path, links=links)
        links = (*links, link)
        path = _follow(tree, link, path)
    return ResolvedPath(path=path, links=links)


def seen_by(tree: ReadableTree, path: str, place: ResolvedPath) -> dict[str, str]:
    """The entries of a read set for `path`, which led to `place`: path, links and place."""
    seen = {path: place.seen}
    for key in (place.path, *place.links) if place.links else ():
        seen[key] = locate(tree, key).seen
    return seen


def holds(read_set: Mapping[str, str], tree: ReadableTree) -> bool:
    """Would a render that recorded `read_set` see the same in `tree`? One look-up for each key."""
    return all(seen_now(tree, key) == seen for key, seen in read_set.items())


def listing(entries: Iterable[ReadEntry]) -> str:
    """Digest of the names and kinds in a folder."""
    names = "\0".join(sorted(f"{entry.name}/{entry.kind}" for entry in entries))
    return hashlib.sha256(names.encode()).hexdigest()[:40]


def keys_touched(path: str) -> tuple[str, ...]:
    """The keys that a change of the file `path` may make untrue: its own and its folders'."""
    keys = [path]
    while path:
        path = posixpath.dirname(path)
        keys += [path, f"{path}/"]
    return tuple(keys)


def seen_now(tree: ReadableTree, key: str) -> str | None:
    """What a render would record under `key`; None where the key leads out of the repository."""
    try:
        place = locate(tree, key.removesuffix("/"))
    except EscapedPathError:
        return None
    if not key.endswith("/"):
        return place.seen
    return listing(tree.list(place.path)) if place.kind == FOLDER else ""


def _link_above(tree: ReadableTree, path: str) -> str | None:
    """The first folder on the way to `path` that is a link; None if the way simply ends."""
    parts = path.split("/")
    for length in range(1, len(parts)):
        above = "/".join(parts[:length])
        found = tree.entry(above)
        if found is None:
            return None
        if found.kind == "symlink":
            return above
    return None


def _follow(tree: ReadableTree, link: str, path: str) -> str:
    entry = tree.entry(link)
    target = tree.read(entry.oid).decode(errors="replace") if entry is not None else ""
    led = posixpath.normpath(posixpath.join(posixpath.dirname(link), target + path[len(link) :]))
    if target.startswith("/") or led == ".." or led.startswith("../"):
        raise EscapedPathError(link, target)
    return "" if led == "." else led
