"""The ports of sources: repositories, the files of a revision, the last known revisions.

A chart of a Helm repository and an artifact of an OCI registry are read as Git repositories are:
a chart's revisions are its versions, an artifact's are its digests, and the files of either are the
unpacked archive.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Protocol

import msgspec

from bus.events import Commit
from bus.identity import RepositoryKey, Revision
from bus.repository_url import RepositoryUrl, UrlLogin
from handlers.application.artifact_signers import Signers
from handlers.application.source_address import SourceKind, key_of
from handlers.application.spec import Source


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

    `Sources.access` makes it. Applications with another credential have another mirror:
    otherwise they could read what their own credential does not open.
    """

    url: RepositoryUrl
    project: str = ""
    """The project whose own credential is used; empty for a credential of all projects."""
    login: UrlLogin | None = None
    """The login in the Application's URL, used where no Secret fits."""
    kind: SourceKind = SourceKind.GIT
    chart: str = ""
    """Of a Helm repository."""
    signers: Signers = ()
    """Who has to have signed what is read of it, as the Application's project demands."""
    pass_credentials: bool = False
    """Whether archives of charts may have the login on every server that the index names."""

    @property
    def key(self) -> RepositoryKey:
        return key_of(self.url, self.chart)


class CommitTree(Protocol):
    """The files of one commit. Paths are relative to the repository's root; `""` is the root."""

    def entry(self, path: str) -> TreeEntry | None: ...
    def list(self, path: str) -> tuple[TreeEntry, ...]: ...
    def read(self, oid: str) -> bytes: ...


class SourceReader(Protocol):
    """Read repositories of one kind or of all. Every method raises RepositoryError."""

    async def fetch(self, repository: RepositoryAccess) -> None: ...
    def looked_at(self, repository: RepositoryAccess) -> datetime | None:
        """When the last successful fetch of this process began; None where there was none."""
        ...

    async def resolve(self, repository: RepositoryAccess, target_revision: str) -> Revision:
        """Find the revision that a target revision means; fetches where nothing is known yet.

        Git: branch, tag, range of tags, commit or HEAD (or `""`) -> commit. A chart: version or
        range -> version. An artifact: tag, digest or range -> digest.
        """
        ...

    async def tree(self, repository: RepositoryAccess, revision: Revision) -> CommitTree: ...
    async def changed_paths(
        self, repository: RepositoryAccess, before: Revision, after: Revision
    ) -> frozenset[str] | None:
        """Files that differ, both sides of a rename; None where that cannot be told."""
        ...

    async def reaches(self, repository: RepositoryAccess, tip: Revision, wanted: Revision) -> bool:
        """Whether `wanted` is `tip` or one of its ancestors; a version is its own ancestor only."""
        ...

    async def commit(self, repository: RepositoryAccess, revision: Revision) -> Commit | None:
        """Read a commit, nothing masked; None where there is none, as of a chart."""
        ...


class Sources(SourceReader, Protocol):
    """The repositories of all kinds."""

    def access(self, source: Source, project: str) -> RepositoryAccess:
        """Find repository and credential with which an Application of `project` reads a source.

        Raises RepositoryError where the source names no repository for certain.
        """
        ...

    def url_named(self, name: str, project: str) -> str:
        """Find the URL of the charts to which a Secret gives this name; empty where none does."""
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
