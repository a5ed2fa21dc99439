"""FetchedCommits reads whole commits of the mirrors: the port DryCommits."""

from __future__ import annotations

from dataclasses import dataclass

from agent.git.commits import details_of
from agent.git.failures import not_found
from agent.git.mirrors import Mirrors
from bus.identity import Revision
from handlers.ports import RepositoryAccess
from handlers.ports.branches import CommitDetails


@dataclass(frozen=True, slots=True)
class FetchedCommits:
    mirrors: Mirrors

    async def details(self, repository: RepositoryAccess, commit: Revision) -> CommitDetails:
        found = await self.mirrors.look(repository, lambda git: details_of(git, commit))
        if found is None:
            raise not_found(repository.url, commit, ())
        return found
