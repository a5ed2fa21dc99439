"""Git behind the counter: fetches are counted, answers and failures pass through."""

from __future__ import annotations

import pytest

from agent.observe.git import CountedGit
from agent.observe.metrics import make_metrics
from bus.identity import Revision
from bus.status import Reason
from handlers.ports import RepositoryError, Tree

URL = "https://me:hush@git.example/a"
SHOWN = {"repo": "https://git.example/a"}


class OneRepository:
    def __init__(self, *, down: bool = False) -> None:
        self.down = down

    async def fetch(self, url: str) -> None:
        if self.down:
            raise RepositoryError(Reason.REPOSITORY_UNREACHABLE, f"{url} is down")

    async def resolve(self, url: str, target_revision: str) -> Revision:
        return Revision(f"{url} {target_revision}")

    async def tree(self, url: str, revision: Revision) -> Tree:
        raise NotImplementedError

    async def changed_paths(
        self, url: str, before: Revision, after: Revision
    ) -> frozenset[str] | None:
        return frozenset({url, before, after})


async def test_a_fetch_is_counted_without_its_secret() -> None:
    metrics = make_metrics()
    await CountedGit(OneRepository(), metrics).fetch(URL)

    value = metrics.registry.get_sample_value
    assert value("argocd_git_request_total", SHOWN | {"request_type": "fetch"}) == 1
    assert value("argocd_git_request_duration_seconds_count", {"request_type": "fetch"}) == 1
    assert value("argocd_git_fetch_fail_total", SHOWN) is None


async def test_a_failed_fetch_is_counted_and_raised() -> None:
    metrics = make_metrics()
    with pytest.raises(RepositoryError):
        await CountedGit(OneRepository(down=True), metrics).fetch(URL)

    assert metrics.registry.get_sample_value("argocd_git_fetch_fail_total", SHOWN) == 1


async def test_answers_pass_through() -> None:
    git = CountedGit(OneRepository(), make_metrics())

    assert await git.resolve("u", "main") == "u main"
    assert await git.changed_paths("u", Revision("a"), Revision("b")) == frozenset({"u", "a", "b"})
