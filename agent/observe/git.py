"""Git, counted: the port `Git` with each fetch in the metrics. It changes nothing else."""

from __future__ import annotations

import time
from dataclasses import dataclass

from agent.observe.metrics import Metrics
from bus.identity import Revision
from handlers.manifest.redact import redact_text
from handlers.ports import Git, RepositoryError, Tree


@dataclass(frozen=True, slots=True)
class CountedGit:
    """Implements `handlers.ports.Git` around another one."""

    git: Git
    metrics: Metrics

    async def fetch(self, url: str) -> None:
        repo = redact_text(url)
        self.metrics.git_requests.labels(repo, "fetch").inc()
        started = time.monotonic()
        try:
            await self.git.fetch(url)
        except RepositoryError:
            self.metrics.git_fetch_failures.labels(repo).inc()
            raise
        finally:
            self.metrics.git_request_seconds.labels("fetch").observe(time.monotonic() - started)

    async def resolve(self, url: str, target_revision: str) -> Revision:
        return await self.git.resolve(url, target_revision)

    async def tree(self, url: str, revision: Revision) -> Tree:
        return await self.git.tree(url, revision)

    async def changed_paths(
        self, url: str, before: Revision, after: Revision
    ) -> frozenset[str] | None:
        return await self.git.changed_paths(url, before, after)
