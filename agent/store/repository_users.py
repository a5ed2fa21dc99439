"""RepositoryUsers is the index from repositories to the Applications that use them.

An Application is indexed again after each write to it, but its sources rarely change: then nothing
is done. The users of a repository are sorted once after a change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from bus.identity import AppKey, RepositoryKey
from bus.repository_url import RepositoryUrl, RepositoryUrlError
from handlers.application.application import Application


class RepositoryUsers:
    def __init__(self) -> None:
        self._apps: dict[RepositoryKey, set[AppKey]] = {}
        self._ordered: dict[RepositoryKey, tuple[AppKey, ...]] = {}
        self._by_delivery_key: dict[str, set[RepositoryKey]] = {}
        """By delivery key, which several repositories may share."""

    def repositories(self, delivery_key: str) -> Sequence[RepositoryKey]:
        """Return the repositories in use that a delivery with this key may be about."""
        return sorted(
            key for key in self._by_delivery_key.get(delivery_key, ()) if self._apps.get(key)
        )

    def of(self, repository: RepositoryKey) -> Sequence[AppKey]:
        """Return the users of a repository in the order of their keys."""
        known = self._ordered.get(repository)
        if known is None:
            known = tuple(sorted(self._apps.get(repository, ())))
            if known:
                self._ordered[repository] = known
        return known

    def change(self, before: Application | None, after: Application | None) -> None:
        """Index a change; `before` is None for a new Application, `after` for a deleted one."""
        if before is not None and after is not None and _urls(before) == _urls(after):
            return
        if before is not None:
            for url in _repositories(before):
                self._of(_key(url)).discard(before.key)
                self._forget_unused(url)
        if after is not None:
            for url in _repositories(after):
                self._by_delivery_key.setdefault(url.delivery_key, set()).add(_key(url))
                self._of(_key(url)).add(after.key)

    def _forget_unused(self, url: RepositoryUrl) -> None:
        if self._apps.get(_key(url)):
            return
        self._apps.pop(_key(url), None)
        spelled = self._by_delivery_key.get(url.delivery_key, set())
        spelled.discard(_key(url))
        if not spelled:
            self._by_delivery_key.pop(url.delivery_key, None)

    def _of(self, repository: RepositoryKey) -> set[AppKey]:
        """Return the users, to be changed, and drop their order."""
        self._ordered.pop(repository, None)
        return self._apps.setdefault(repository, set())


def _urls(app: Application) -> list[str]:
    return [it.repo_url for it in (app.spec.source, *app.spec.sources) if it is not None]


def _repositories(app: Application) -> Iterator[RepositoryUrl]:
    """Return the readable addresses; validation reports the others."""
    for url in _urls(app):
        with suppress(RepositoryUrlError):
            yield RepositoryUrl.parse(url)


def _key(url: RepositoryUrl) -> RepositoryKey:
    return RepositoryKey(str(url))
