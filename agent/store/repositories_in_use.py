"""RepositoriesInUse lists what is followed: sources of Applications, and remote bases of renders.

A kustomization may name bases in other repositories. Which ones, only its render knows, so they
are known from the last good render of each Application on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent.store.applications import Applications
from agent.store.render_store import RenderStore
from bus.identity import RepositoryKey
from bus.repository_url import RepositoryUrl
from handlers.application.application import Application
from handlers.render.source_resolver import with_only


@dataclass(frozen=True, slots=True)
class RepositoriesInUse:
    applications: Applications
    renders: RenderStore

    def followed_repositories(self) -> Sequence[RepositoryKey]:
        sources = self.applications.followed_repositories()
        return tuple(dict.fromkeys((*sources, *self.renders.base_repositories())))

    def repositories(self, delivery_key: str) -> Sequence[RepositoryKey]:
        """Return the repositories in use that a delivery with this key may be about."""
        bases = (
            one
            for one in self.renders.base_repositories()
            if RepositoryUrl.parse(one.url).delivery_key == delivery_key
        )
        return tuple(dict.fromkeys((*self.applications.repositories(delivery_key), *bases)))

    def of_repository(self, repository: RepositoryKey) -> Sequence[Application]:
        """Return the users of a repository; those of a base as if it was their source."""
        return (*self.applications.of_repository(repository), *self._of_bases(repository))

    def _of_bases(self, repository: RepositoryKey) -> Iterator[Application]:
        for base, users in self.renders.base_users(repository).items():
            for key in sorted(users):
                if (app := self.applications.get(key)) is not None:
                    yield with_only(app, base.source)
