"""Which Applications use which repository: an index that a push reads and hardly ever changes.

An Application is taken in anew with each write to it, and its sources are nearly always what they
were: then nothing is done here. The order in which users are named is made once after a change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from bus.identity import AppKey, RepositoryKey
from bus.repository_url import RepositoryUrl, RepositoryUrlError
from handlers.application.application import Application


class Users:
    def __init__(self) -> None:
        self._apps: dict[RepositoryKey, set[AppKey]] = {}
        self._ordered: dict[RepositoryKey, tuple[AppKey, ...]] = {}
        self._spelled: dict[str, set[RepositoryKey]] = {}
        """By the form in which deliveries are matched: several repositories may have one."""

    def repositories(self, delivery_key: str) -> Sequence[RepositoryKey]:
        """Those in use that a delivery with this key may be about."""
        return sorted(key for key in self._spelled.get(delivery_key, ()) if self._apps.get(key))

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
            for url in _repositories(before):
                self._of(_key(url)).discard(before.key)
                self._forget_unused(url)
        if after is not None:
            for url in _repositories(after):
                self._spelled.setdefault(url.delivery_key, set()).add(_key(url))
                self._of(_key(url)).add(after.key)

    def _forget_unused(self, url: RepositoryUrl) -> None:
        if self._apps.get(_key(url)):
            return
        self._apps.pop(_key(url), None)
        spelled = self._spelled.get(url.delivery_key, set())
        spelled.discard(_key(url))
        if not spelled:
            self._spelled.pop(url.delivery_key, None)

    def _of(self, repository: RepositoryKey) -> set[AppKey]:
        """To be changed: so the order is not known any more."""
        self._ordered.pop(repository, None)
        return self._apps.setdefault(repository, set())


def _urls(app: Application) -> list[str]:
    return [one.repo_url for one in (app.spec.source, *app.spec.sources) if one is not None]


def _repositories(app: Application) -> Iterator[RepositoryUrl]:
    """Those whose address can be read; of the others validation tells."""
    for url in _urls(app):
        with suppress(RepositoryUrlError):
            yield RepositoryUrl.parse(url)


def _key(url: RepositoryUrl) -> RepositoryKey:
    return RepositoryKey(str(url))
