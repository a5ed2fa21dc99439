"""Repositories: mirrors by address and project, the files of a commit, what a name meant last."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

import msgspec

from bus.events import Commit
from bus.identity import RepositoryKey, Revision
from bus.repository_url import Login, RepositoryUrl


class EntryKind(StrEnum):
    BLOB = "blob"
    TREE = "tree"
    SYMLINK = "symlink"
    SUBMODULE = "submodule"


class TreeEntry(msgspec.Struct, frozen=True):
    name: str
    kind: EntryKind
    oid: str
    size: int = 0
    """Bytes of a blob or symlink; 0 for folders."""


class RepositoryAccess(msgspec.Struct, frozen=True):
    """A repository and with whose credential it is read: equal ones share what was fetched.

    `Git.access` makes it. Who reads with a credential that not everybody has shares nothing with
    the others, or its content would be theirs too.
    """

    url: RepositoryUrl
    project: str = ""
    """The project whose own credential opens it; empty: what opens it is for all projects."""
    login: Login | None = None
    """What an Application has written into its URL, where no Secret fits."""

    @property
    def key(self) -> RepositoryKey:
        return RepositoryKey(str(self.url))


class Tree(Protocol):
    """The files of one commit. Paths are relative to the repository's root; `""` is the root."""

    def entry(self, path: str) -> TreeEntry | None: ...
    def list(self, path: str) -> tuple[TreeEntry, ...]: ...
    def read(self, oid: str) -> bytes: ...


class Git(Protocol):
    """Mirrors of repositories. Every method raises RepositoryError."""

    def access(self, url: str, project: str) -> RepositoryAccess:
        """How an Application of `project` reads the repository that it spells so."""
        ...

    async def fetch(self, repository: RepositoryAccess) -> None: ...
    async def resolve(self, repository: RepositoryAccess, target_revision: str) -> Revision:
        """Branch, tag, commit or HEAD (or `""`) -> commit; fetches where there is no mirror yet."""
        ...

    async def tree(self, repository: RepositoryAccess, revision: Revision) -> Tree: ...
    async def changed_paths(
        self, repository: RepositoryAccess, before: Revision, after: Revision
    ) -> frozenset[str] | None:
        """Files that differ, both sides of a rename; None where `before` is not known any more."""
        ...


class Commits(Protocol):
    """What is written in commits that are in a mirror already."""

    async def commit(self, repository: RepositoryAccess, revision: Revision) -> Commit | None:
        """As its author wrote it, nothing masked; None where the mirror has no such commit."""
        ...


class Refs(Protocol):
    """What each target revision last meant, so that a fetch can tell what is new. A cache."""

    def last(self, repository: RepositoryAccess, target_revision: str) -> Revision: ...
    def told(self, repository: RepositoryKey, target_revision: str) -> Revision:
        """What was last said of it, in an earlier life too."""
        ...

    def note(
        self, repository: RepositoryAccess, target_revision: str, revision: Revision
    ) -> None: ...
