"""SubmoduleTree shows the files of a commit together with those of its submodules.

A submodule is read when somebody looks into it: until then SubmoduleNeededError asks for it, and
whoever called tries again with the submodule there. So an Application meets no submodule that it
does not read: neither the time nor the errors of its fetch.

In a read set a submodule is the one path that changes in its parent, with the commit that belongs
there. So a push is judged by the parent's commit alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec
from msgspec.structs import replace

from bus.identity import Revision
from bus.status import Reason
from handlers.ports import CommitTree, EntryKind, FileNeededError, RepositoryAccess, TreeEntry
from handlers.ports.rendering import RenderError
from handlers.render.git_modules import GIT_MODULES, LARGEST, module_urls
from handlers.render.read_set import seen_now


class Submodule(msgspec.Struct, frozen=True, kw_only=True):
    """A submodule that is read."""

    path: str
    """From the root of the outermost repository."""
    access: RepositoryAccess
    revision: Revision
    tree: CommitTree

    @property
    def url(self) -> str:
        return str(self.access.url)


class SubmoduleNeededError(Exception):
    """Somebody looks into a submodule that is not read yet."""

    def __init__(self, tree: SubmoduleTree, path: str) -> None:
        super().__init__(path)
        self.tree = tree
        self.path = path


class SubmoduleTree:
    """A CommitTree of a repository; `urls` are those of `.gitmodules`, by path."""

    def __init__(
        self,
        commit: CommitTree,
        access: RepositoryAccess,
        urls: Mapping[str, str],
        *,
        at: str = "",
        depth: int = 0,
    ) -> None:
        self.commit = commit
        """The files of the commit alone."""
        self.access = access
        self.urls = urls
        self.depth = depth
        """How many repositories it is in."""
        self._at = at
        self.read_ones: dict[str, Submodule] = {}
        """The submodules that are read, by their path here."""
        self._owners: dict[str, CommitTree] = {}

    def entry(self, path: str) -> TreeEntry | None:
        place, rest = self._divided(path)
        if not place:
            return self.commit.entry(path)
        if not rest:
            return self._folder(self.commit.entry(place))
        inside = self._inside(place)
        return self._owned(inside.entry(rest), inside)

    def list(self, path: str) -> tuple[TreeEntry, ...]:
        place, rest = self._divided(path)
        if place:
            inside = self._inside(place)
            found = (self._owned(one, inside) for one in inside.list(rest))
            return tuple(one for one in found if one is not None)
        folder = _normal(path)
        return tuple(
            self._folder(one) or one if self._is_module(_joined(folder, one.name)) else one
            for one in self.commit.list(path)
        )

    def read(self, oid: str) -> bytes:
        return self._owners.get(oid, self.commit).read(oid)

    def gitlink(self, path: str) -> Revision:
        """The commit that belongs at a path; empty where no submodule is."""
        found = self.commit.entry(path)
        is_link = found is not None and found.kind is EntryKind.SUBMODULE
        return Revision(found.oid if found is not None and is_link else "")

    def place_of(self, path: str) -> str:
        """The path from the root of the outermost repository."""
        return _joined(self._at, path)

    def require(self, path: str) -> None:
        """Ask for the submodule at a path from the outermost root, if there is one."""
        place, rest = self._divided(path)
        if not place:
            return
        inside = self._inside(place)
        if rest and isinstance(inside, SubmoduleTree):
            inside.require(rest)

    def all_read(self) -> Iterator[Submodule]:
        """The submodules that are read, those of submodules too."""
        for one in self.read_ones.values():
            yield one
            if isinstance(one.tree, SubmoduleTree):
                yield from one.tree.all_read()

    def _inside(self, place: str) -> CommitTree:
        found = self.read_ones.get(place)
        if found is None:
            raise SubmoduleNeededError(self, place)
        return found.tree

    def _divided(self, path: str) -> tuple[str, str]:
        """The submodule in which a path is, and the path in there; empty where it is in none."""
        steps = _normal(path).split("/")
        for length in range(1, len(steps) + 1):
            place = "/".join(steps[:length])
            if self._is_module(place):
                return place, "/".join(steps[length:])
        return "", ""

    def _is_module(self, path: str) -> bool:
        return path in self.urls and bool(self.gitlink(path))

    def _folder(self, entry: TreeEntry | None) -> TreeEntry | None:
        return entry and replace(entry, kind=EntryKind.TREE)

    def _owned(self, entry: TreeEntry | None, inside: CommitTree) -> TreeEntry | None:
        if entry is not None:
            self._owners[entry.oid] = inside
        return entry


def with_submodules(
    commit: CommitTree, access: RepositoryAccess, *, at: str = "", depth: int = 0
) -> CommitTree:
    """The files of a commit with those of its submodules, if it has any; raises RenderError.

    `at`: where the outermost repository has it, which is `depth` repositories above.
    """
    found = commit.entry(GIT_MODULES)
    if found is None or found.kind is not EntryKind.BLOB:
        return commit
    if found.size > LARGEST:
        place = _joined(at, GIT_MODULES)
        message = f"{place} has {found.size} bytes; at most {LARGEST} are read"
        raise RenderError(Reason.OUTPUT_TOO_LARGE, message, file=place)
    try:
        content = commit.read(found.oid)
    except FileNeededError as error:
        place = _joined(at, GIT_MODULES)
        message = f"{place} is kept by Git LFS, and says nothing so; commit the file itself"
        raise RenderError(Reason.MANIFEST_INVALID, message, file=place) from error
    urls = module_urls(content.decode(errors="replace"))
    return SubmoduleTree(commit, access, urls, at=at, depth=depth) if urls else commit


def commit_of(tree: CommitTree) -> CommitTree:
    """The files of the commit alone, by which a read set is asked."""
    return tree.commit if isinstance(tree, SubmoduleTree) else tree


def submodules_of(tree: CommitTree) -> tuple[Submodule, ...]:
    return tuple(tree.all_read()) if isinstance(tree, SubmoduleTree) else ()


def read_of_commit(read_set: Mapping[str, str], tree: CommitTree) -> dict[str, str]:
    """A read set in the terms of the commit alone: of a submodule, the commit that belongs there.

    What was seen beside the submodules is seen once more without them, because a link may have led
    into one, and the folder above lists them. `.gitmodules` was read too.
    """
    if not isinstance(tree, SubmoduleTree) or not tree.read_ones:
        return dict(read_set)
    places = tuple(tree.read_ones)
    found = dict[str, str]()
    for key, seen in {**read_set, GIT_MODULES: ""}.items():
        place = next((one for one in places if f"{key}/".startswith(f"{one}/")), key)
        now = seen_now(tree.commit, place)
        found[place] = seen if now is None else now
    return found


def _normal(path: str) -> str:
    """The path without what means nothing; one with `..` leads nowhere, as in a commit."""
    steps = [one for one in path.split("/") if one not in ("", ".")]
    return "" if ".." in steps else "/".join(steps)


def _joined(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name
