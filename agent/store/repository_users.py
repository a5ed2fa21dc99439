"""RepositoryUsers is the index from repositories to the Applications that use them.

An Application is indexed again after each write to it, but its sources rarely change: then nothing
is done. The users of a repository are sorted once after a change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from bus.identity import AppKey, RepositoryKey
from bus.repository_url import RepositoryUrlError
from handlers.application.application import Application
from handlers.application.source_address import SourceAddress
from handlers.application.spec import Source


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
        if before is not None and after is not None and _places(before) == _places(after):
            return
        if before is not None:
            for address in _addresses(before):
                self._of(address.key).discard(before.key)
                self._forget_unused(address)
        if after is not None:
            for address in _addresses(after):
                self._by_delivery_key.setdefault(address.delivery_key, set()).add(address.key)
                self._of(address.key).add(after.key)

    def _forget_unused(self, address: SourceAddress) -> None:
        if self._apps.get(address.key):
            return
        self._apps.pop(address.key, None)
        spelled = self._by_delivery_key.get(address.delivery_key, set())
        spelled.discard(address.key)
        if not spelled:
            self._by_delivery_key.pop(address.delivery_key, None)

    def _of(self, repository: RepositoryKey) -> set[AppKey]:
        """Return the users, to be changed, and drop their order."""
        self._ordered.pop(repository, None)
        return self._apps.setdefault(repository, set())


def _sources(app: Application) -> list[Source]:
    found = (app.spec.source, *app.spec.sources, *app.followed_sources[len(app.sources) :])
    return [it for it in found if it is not None]


def _places(app: Application) -> list[tuple[str, str]]:
    return [(it.repo_url, it.chart) for it in _sources(app)]


def _addresses(app: Application) -> Iterator[SourceAddress]:
    """Return the readable addresses; validation reports the others."""
    for source in _sources(app):
        with suppress(RepositoryUrlError):
            yield SourceAddress.of(source)
