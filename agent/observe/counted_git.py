"""CountedGit is the port `GitRepositories` with each fetch counted in the metrics."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime

from agent.observe.metrics import AgentMetrics
from bus.identity import Revision
from bus.redaction import without_user_info
from handlers.ports import CommitTree, GitRepositories, RepositoryAccess, RepositoryError


@dataclass(frozen=True, slots=True)
class CountedGit:
    """Implements `handlers.ports.Git` around another one."""

    git: GitRepositories
    metrics: AgentMetrics

    def access(self, url: str, project: str) -> RepositoryAccess:
        return self.git.access(url, project)

    async def fetch(self, repository: RepositoryAccess) -> None:
        repo = without_user_info(str(repository.url))
        self.metrics.git_requests.labels(repo, "fetch").inc()
        started = time.monotonic()
        try:
            await self.git.fetch(repository)
        except RepositoryError:
            self.metrics.git_fetch_failures.labels(repo).inc()
            raise
        finally:
            self.metrics.git_request_seconds.labels("fetch").observe(time.monotonic() - started)

    def looked_at(self, repository: RepositoryAccess) -> datetime | None:
        return self.git.looked_at(repository)

    async def resolve(self, repository: RepositoryAccess, target_revision: str) -> Revision:
        return await self.git.resolve(repository, target_revision)

    async def tree(self, repository: RepositoryAccess, revision: Revision) -> CommitTree:
        return await self.git.tree(repository, revision)

    async def changed_paths(
        self, repository: RepositoryAccess, before: Revision, after: Revision
    ) -> frozenset[str] | None:
        return await self.git.changed_paths(repository, before, after)
