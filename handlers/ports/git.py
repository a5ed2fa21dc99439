"""The Git ports: mirrors of repositories, the files of a commit, the last known revisions."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Protocol

import msgspec

from bus.events import Commit
from bus.identity import RepositoryKey, Revision
from bus.repository_url import RepositoryUrl, UrlLogin


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
    """A repository together with the credential that reads it; equal values share one mirror.

    `GitRepositories.access` makes it. Applications with another credential have another mirror:
    otherwise they could read what their own credential does not open.
    """

    url: RepositoryUrl
    project: str = ""
    """The project whose own credential is used; empty for a credential of all projects."""
    login: UrlLogin | None = None
    """The login in the Application's URL, used where no Secret fits."""

    @property
    def key(self) -> RepositoryKey:
        return RepositoryKey(str(self.url))


class CommitTree(Protocol):
    """The files of one commit. Paths are relative to the repository's root; `""` is the root."""

    def entry(self, path: str) -> TreeEntry | None: ...
    def list(self, path: str) -> tuple[TreeEntry, ...]: ...
    def read(self, oid: str) -> bytes: ...


class GitRepositories(Protocol):
    """Mirrors of repositories. Every method raises RepositoryError."""

    def access(self, url: str, project: str) -> RepositoryAccess:
        """Find the mirror and credential with which an Application of `project` reads the URL."""
        ...

    async def fetch(self, repository: RepositoryAccess) -> None: ...
    def looked_at(self, repository: RepositoryAccess) -> datetime | None:
        """When the last successful fetch of this process began; None where there was none."""
        ...

    async def resolve(self, repository: RepositoryAccess, target_revision: str) -> Revision:
        """Branch, tag, commit or HEAD (or `""`) -> commit; fetches where there is no mirror yet."""
        ...

    async def tree(self, repository: RepositoryAccess, revision: Revision) -> CommitTree: ...
    async def changed_paths(
        self, repository: RepositoryAccess, before: Revision, after: Revision
    ) -> frozenset[str] | None:
        """Files that differ, both sides of a rename; None where `before` is not known any more."""
        ...


class Commits(Protocol):
    """Author, message and time of commits that are in a mirror already."""

    async def commit(self, repository: RepositoryAccess, revision: Revision) -> Commit | None:
        """Read a commit, nothing masked; None where the mirror does not have it."""
        ...


class KnownRefs(Protocol):
    """The last revision of each target revision, so that a fetch can tell what is new. A cache."""

    def last(self, repository: RepositoryAccess, target_revision: str) -> Revision: ...
    def published(self, repository: RepositoryKey, target_revision: str) -> Revision:
        """Return the revision that the last `RevisionResolved` named, of an earlier process too."""
        ...

    def remember(
        self, repository: RepositoryAccess, target_revision: str, revision: Revision
    ) -> None: ...
