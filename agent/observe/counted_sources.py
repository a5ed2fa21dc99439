"""CountedSources is the port `Sources` with each fetch counted in the metrics."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime

from agent.observe.metrics import AgentMetrics
from bus.events import Commit
from bus.identity import Revision
from bus.redaction import without_user_info
from handlers.application.spec import Source
from handlers.ports import CommitTree, RepositoryAccess, RepositoryError, Sources


@dataclass(frozen=True, slots=True)
class CountedSources:
    """Implements `handlers.ports.Sources` around another one."""

    sources: Sources
    metrics: AgentMetrics

    def access(self, source: Source, project: str) -> RepositoryAccess:
        return self.sources.access(source, project)

    def url_named(self, name: str, project: str) -> str:
        return self.sources.url_named(name, project)

    async def fetch(self, repository: RepositoryAccess) -> None:
        repo = without_user_info(str(repository.key))
        self.metrics.git_requests.labels(repo, "fetch").inc()
        started = time.monotonic()
        try:
            await self.sources.fetch(repository)
        except RepositoryError:
            self.metrics.git_fetch_failures.labels(repo).inc()
            raise
        finally:
            self.metrics.git_request_seconds.labels("fetch").observe(time.monotonic() - started)

    def looked_at(self, repository: RepositoryAccess) -> datetime | None:
        return self.sources.looked_at(repository)

    async def resolve(self, repository: RepositoryAccess, target_revision: str) -> Revision:
        return await self.sources.resolve(repository, target_revision)

    async def tree(self, repository: RepositoryAccess, revision: Revision) -> CommitTree:
        return await self.sources.tree(repository, revision)

    async def changed_paths(
        self, repository: RepositoryAccess, before: Revision, after: Revision
    ) -> frozenset[str] | None:
        return await self.sources.changed_paths(repository, before, after)

    async def reaches(self, repository: RepositoryAccess, tip: Revision, wanted: Revision) -> bool:
        return await self.sources.reaches(repository, tip, wanted)

    async def commit(self, repository: RepositoryAccess, revision: Revision) -> Commit | None:
        return await self.sources.commit(repository, revision)
