"""handlers.ports.Refs, in memory: after a restart everything is looked at once."""

from __future__ import annotations

from bus.identity import NO_REVISION, RepositoryKey, Revision


class RefNotes:
    def __init__(self) -> None:
        self._revisions: dict[tuple[RepositoryKey, str], Revision] = {}

    def last(self, repository: RepositoryKey, target_revision: str) -> Revision:
        return self._revisions.get((repository, target_revision), NO_REVISION)

    def note(self, repository: RepositoryKey, target_revision: str, revision: Revision) -> None:
        self._revisions[repository, target_revision] = revision
