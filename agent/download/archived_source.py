"""ArchivedSource is what charts and artifacts lack beside Git: commits, and a history of paths."""

from __future__ import annotations

from bus.events import Commit
from bus.identity import Revision
from handlers.ports import RepositoryAccess


class ArchivedSource:
    """The part of the port SourceReader that is the same for every source without commits."""

    __slots__ = ()

    async def changed_paths(
        self, _repository: RepositoryAccess, _before: Revision, _after: Revision
    ) -> frozenset[str] | None:
        return None

    async def reaches(self, _repository: RepositoryAccess, tip: Revision, wanted: Revision) -> bool:
        return tip == wanted

    async def commit(self, _repository: RepositoryAccess, _revision: Revision) -> Commit | None:
        return None
