"""Git behind the counter: fetches are counted, answers and failures pass through."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from agent.observe.counted_sources import CountedSources
from agent.observe.metrics import make_metrics
from bus.events import Commit
from bus.identity import Revision
from bus.repository_url import RepositoryUrl, UrlLogin
from bus.status import Reason
from handlers.application.spec import Source
from handlers.ports import CommitTree, RepositoryAccess, RepositoryError

A = RepositoryAccess(RepositoryUrl.parse("https://git.example/a"), login=UrlLogin("me", "hush"))
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SHOWN = {"repo": "https://git.example/a"}


class OneRepository:
    def __init__(self, *, down: bool = False) -> None:
        self.down = down

    def access(self, source: Source, project: str) -> RepositoryAccess:
        return RepositoryAccess(RepositoryUrl.parse(source.repo_url), project)

    async def fetch(self, repository: RepositoryAccess) -> None:
        if self.down:
            raise RepositoryError(Reason.REPOSITORY_UNREACHABLE, f"{repository.url} is down")

    def looked_at(self, repository: RepositoryAccess) -> datetime | None:
        return None if self.down else NOON

    async def resolve(self, repository: RepositoryAccess, target_revision: str) -> Revision:
        return Revision(f"{repository.url} {target_revision}")

    async def tree(self, repository: RepositoryAccess, revision: Revision) -> CommitTree:
        raise NotImplementedError

    async def changed_paths(
        self, repository: RepositoryAccess, before: Revision, after: Revision
    ) -> frozenset[str] | None:
        return frozenset({str(repository.url), before, after})

    async def reaches(self, repository: RepositoryAccess, tip: Revision, wanted: Revision) -> bool:
        return (repository, tip) == (A, wanted)

    async def commit(self, repository: RepositoryAccess, revision: Revision) -> Commit | None:
        return Commit(author=str(repository.url), message=revision, time="")


async def test_a_fetch_is_counted_without_its_secret() -> None:
    metrics = make_metrics()
    await CountedSources(OneRepository(), metrics).fetch(A)

    value = metrics.registry.get_sample_value
    assert value("argocd_git_request_total", SHOWN | {"request_type": "fetch"}) == 1
    assert value("argocd_git_request_duration_seconds_count", {"request_type": "fetch"}) == 1
    assert value("argocd_git_fetch_fail_total", SHOWN) is None


async def test_a_failed_fetch_is_counted_and_raised() -> None:
    metrics = make_metrics()
    with pytest.raises(RepositoryError):
        await CountedSources(OneRepository(down=True), metrics).fetch(A)

    assert metrics.registry.get_sample_value("argocd_git_fetch_fail_total", SHOWN) == 1


async def test_answers_pass_through() -> None:
    sources = CountedSources(OneRepository(), make_metrics())

    url = str(A.url)
    assert sources.access(Source(repo_url=url), "shop") == RepositoryAccess(A.url, "shop")
    assert sources.looked_at(A) == NOON
    assert await sources.resolve(A, "main") == f"{url} main"
    assert await sources.changed_paths(A, Revision("a"), Revision("b")) == frozenset(
        {url, "a", "b"}
    )
    assert await sources.reaches(A, Revision("a"), Revision("a"))
    assert await sources.commit(A, Revision("a")) == Commit(author=url, message="a", time="")
