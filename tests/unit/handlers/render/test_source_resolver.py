"""At which commits the sources of an Application are looked at."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from bus.identity import Revision
from bus.repository_url import RepositoryUrl
from handlers.application.spec import Source
from handlers.ports import RepositoryAccess, Sources
from handlers.render.source_resolver import SourceResolver
from tests.unit.agent.renderer.written_tree import WrittenTree
from tests.unit.handlers.application.builders import REPO, application


@dataclass
class PushedBetween:
    """A repository to which somebody pushes between any two looks."""

    looks: list[str] = field(default_factory=list)

    def access(self, source: Source, project: str) -> RepositoryAccess:
        return RepositoryAccess(RepositoryUrl.parse(source.repo_url))

    async def resolve(self, access: RepositoryAccess, target: str) -> Revision:
        self.looks.append(target)
        return Revision(f"{len(self.looks):040}")

    async def tree(self, access: RepositoryAccess, revision: Revision) -> WrittenTree:
        return WrittenTree({})


async def test_one_target_of_one_repository_is_one_commit() -> None:
    app = application({"sources": [{"repoURL": REPO, "path": one} for one in "abc"]})
    resolver = SourceResolver(sources=cast("Sources", PushedBetween()))
    first, second, other = await resolver.resolve(app, ("main", "main", "next"))
    assert first.revision == second.revision
    assert other.revision != first.revision
