"""Which repositories in use does a push touch? Pure; the index comes in as a port.

A repository is in use under the spelling its Application has, which may differ from the payload's
in scheme. A tag may satisfy any version range, so tags always count; a branch counts where it is
the target revision or the default branch of an application that follows HEAD.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from agent.ingress.webhooks.push import Push
from bus.events import RefreshRepository
from bus.identity import RepositoryKey
from handlers.application.application import Application

_SCHEMES = ("https://", "http://", "")


class AppsOfRepository(Protocol):
    def of_repository(self, repository: RepositoryKey) -> Sequence[Application]: ...


def touched(push: Push, apps: AppsOfRepository) -> tuple[RefreshRepository, ...]:
    """One ask per repository spelling in use; none when no application cares about the ref."""
    return tuple(
        RefreshRepository(repository=repository, ref=push.ref)
        for repository in _spellings(push)
        if any(_follows(app, push) for app in apps.of_repository(repository))
    )


def _spellings(push: Push) -> Iterator[RepositoryKey]:
    given = dict.fromkeys(push.repositories)
    bare = dict.fromkeys(url.partition("://")[2] or url for url in given)
    others = (f"{scheme}{url}" for url in bare for scheme in _SCHEMES)
    return (RepositoryKey(url) for url in dict.fromkeys([*given, *others]))


def _follows(app: Application, push: Push) -> bool:
    return push.is_tag or any(
        _means(source.target_revision, push)
        for source in (app.spec.sources or (app.spec.source,))
        if source is not None
    )


def _means(target: str, push: Push) -> bool:
    if target in {"", "HEAD"}:
        return push.default_branch in {"", push.branch}
    return target in {push.branch, push.ref}
