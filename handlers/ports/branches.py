"""The ports of hydrated branches: what is committed to them, and what a dry commit says."""

from __future__ import annotations

from typing import Protocol

import msgspec

from bus.identity import HydratedBranch, Revision
from handlers.ports.sources import RepositoryAccess


class CommitDetails(msgspec.Struct, frozen=True, kw_only=True):
    """A commit as Git has it: nothing is masked or cut."""

    author_name: str = ""
    author_email: str = ""
    time: str = ""
    """RFC 3339, when it was written, in the author's time zone."""
    message: str = ""


class HydratedFolder(msgspec.Struct, frozen=True, kw_only=True):
    """The files of one Application; the other files are written only if the manifest differs."""

    path: str
    manifest: bytes
    metadata: bytes
    readme: bytes


class BranchChange(msgspec.Struct, frozen=True, kw_only=True):
    """What a branch shall hold, and the commit that brings it there, should it differ."""

    base: str
    """The branch from which a missing one is made."""
    folders: tuple[HydratedFolder, ...]
    metadata: bytes
    """Of the root: the dry commit."""
    message: str
    author_name: str
    author_email: str
    note: bytes
    """Of the commit, in the notes of hydrated commits."""


class BranchHead(msgspec.Struct, frozen=True):
    """Where a branch stands after a change."""

    commit: Revision
    is_new: bool
    """Whether this change made the commit: what was there already is not committed again."""


class Branches(Protocol):
    """The branches of repositories, written with credentials of their own."""

    async def change(self, branch: HydratedBranch, change: BranchChange) -> BranchHead:
        """Commit and push what differs; raises RepositoryError, and leaves nothing half-done."""
        ...


class DryCommits(Protocol):
    """The commits that were fetched."""

    async def details(self, repository: RepositoryAccess, commit: Revision) -> CommitDetails:
        """Read a commit; raises RepositoryError where the mirror does not have it."""
        ...
