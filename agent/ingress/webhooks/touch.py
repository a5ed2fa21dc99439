"""Which repositories in use does a push touch? Pure; the index comes in as a port.

An Application may spell its repository differently from the payload (scheme, port, case, suffix),
and several repositories may look the same to a delivery: each of them is refreshed, by its own URL.
A tag may satisfy any version range, so tags always count; a branch counts where it is the target
revision or the default branch of an application that follows HEAD.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Protocol

from agent.ingress.webhooks.push import Push
from bus.events import RefreshRepository
from bus.identity import RepositoryKey
from bus.repository_url import RepositoryUrl, RepositoryUrlError
from handlers.application.application import Application


class AppsOfRepository(Protocol):
    def repositories(self, delivery_key: str) -> Sequence[RepositoryKey]:
        """Those in use that a delivery with this key may be about."""
        ...

    def of_repository(self, repository: RepositoryKey) -> Sequence[Application]: ...


def touched(push: Push, apps: AppsOfRepository) -> tuple[RefreshRepository, ...]:
    """One ask per repository in use; none when no application cares about the ref."""
    keys = dict.fromkeys(_delivery_keys(push))
    found = dict.fromkeys(one for key in keys for one in apps.repositories(key))
    return tuple(
        RefreshRepository(repository=repository, ref=push.ref)
        for repository in found
        if any(_follows(app, push) for app in apps.of_repository(repository))
    )


def _delivery_keys(push: Push) -> Iterator[str]:
    for url in push.repositories:
        with suppress(RepositoryUrlError):
            yield RepositoryUrl.parse(url).delivery_key


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
