"""Which Applications use which repository: an index that a push reads and hardly ever changes.

An Application is taken in anew with each write to it, and its sources are nearly always what they
were: then nothing is done here. The order in which users are named is made once after a change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bus.identity import AppKey, RepositoryKey
from handlers.application.application import Application


class Users:
    def __init__(self) -> None:
        self._apps: dict[RepositoryKey, set[AppKey]] = {}
        self._ordered: dict[RepositoryKey, tuple[AppKey, ...]] = {}

    def of(self, repository: RepositoryKey) -> Sequence[AppKey]:
        """In the order of their keys."""
        known = self._ordered.get(repository)
        if known is None:
            known = tuple(sorted(self._apps.get(repository, ())))
            if known:
                self._ordered[repository] = known
        return known

    def change(self, before: Application | None, after: Application | None) -> None:
        """None before: it is new; None after: it is gone."""
        if before is not None and after is not None and _urls(before) == _urls(after):
            return
        if before is not None:
            for repository in _repositories(before):
                self._of(repository).discard(before.key)
        if after is not None:
            for repository in _repositories(after):
                self._of(repository).add(after.key)

    def _of(self, repository: RepositoryKey) -> set[AppKey]:
        """To be changed: so the order is not known any more."""
        self._ordered.pop(repository, None)
        return self._apps.setdefault(repository, set())


def _urls(app: Application) -> list[str]:
    return [one.repo_url for one in (app.spec.source, *app.spec.sources) if one is not None]


def _repositories(app: Application) -> Iterator[RepositoryKey]:
    return (RepositoryKey.of(url) for url in _urls(app))
