"""handlers.ports.Refs, in memory: after a restart all is looked at once more and said no more."""

from __future__ import annotations

from bus.identity import NO_REVISION, RepositoryKey, Revision
from handlers.ports import RepositoryAccess


class RefNotes:
    def __init__(self) -> None:
        self._revisions: dict[tuple[RepositoryAccess, str], Revision] = {}
        self._told: dict[tuple[RepositoryKey, str], Revision] = {}

    def last(self, repository: RepositoryAccess, target_revision: str) -> Revision:
        return self._revisions.get((repository, target_revision), NO_REVISION)

    def told(self, repository: RepositoryKey, target_revision: str) -> Revision:
        return self._told.get((repository, target_revision), NO_REVISION)

    def heard(self, repository: RepositoryKey, target_revision: str, revision: Revision) -> None:
        """Said in an earlier life: it need not be said again, and is looked at all the same."""
        self._told[repository, target_revision] = revision

    def note(self, repository: RepositoryAccess, target_revision: str, revision: Revision) -> None:
        self._revisions[repository, target_revision] = revision
        self._told[repository.key, target_revision] = revision
