"""handlers.ports.Git and Commits: a mirror for every repository, under the state directory.

A mirror is kept by the repository's normalised URL, so that all spellings of it share one; the
fetch itself uses the URL as the Application spells it. Fetches wait for nobody but a fetch of the
same repository. Whoever waited for a fetch that began after he asked has what he wants.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import structlog

from agent.git.credentials import CredentialSource, split_user
from agent.git.failures import unusable
from agent.git.mirror import Mirror, open_mirror
from agent.git.refs import is_commit, is_range
from agent.git.transport import Remote
from bus.events import Commit
from bus.identity import RepositoryKey, Revision
from bus.status import Reason
from handlers.ports import RepositoryError, Tree

_log = structlog.get_logger(__name__)

_RECENT = 5.0
"""Seconds in which a revision that was not found is not looked for at the server again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorSettings:
    folder: Path
    fetch_seconds: float = 90.0
    """Below the refresh room's own time limit, so that a slow server is told and not just cut."""


class Mirrors:
    """Implements handlers.ports.Git and Commits; `async with` closes the mirrors."""

    def __init__(
        self,
        settings: MirrorSettings,
        credentials: CredentialSource,
        authority: Callable[[str], str] = lambda _: "",
    ) -> None:
        """`authority`: URL -> the certificates in PEM by which its server is trusted."""
        self._settings = settings
        self._credentials = credentials
        self._authority = authority
        self._mirrors: dict[RepositoryKey, Mirror] = {}
        self._opening = asyncio.Lock()
        self._told: set[str] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for mirror in self._mirrors.values():
            mirror.close()
        self._mirrors.clear()

    async def fetch(self, url: str) -> None:
        mirror = await self._mirror(url)
        asked = mirror.begun
        async with mirror.lock:
            if mirror.succeeded <= asked:
                await mirror.fetch(self._remote(url))

    async def resolve(self, url: str, target_revision: str) -> Revision:
        mirror = await self._mirror(url)
        found = mirror.resolve(target_revision)
        if found is None and not mirror.fetched_within(_RECENT):
            await self.fetch(url)
            found = mirror.resolve(target_revision)
        if found is None and is_commit(target_revision):
            found = await self._fetch_commit(mirror, url, target_revision)
        if found is None:
            raise _not_found(mirror, url, target_revision)
        return found

    async def tree(self, url: str, revision: Revision) -> Tree:
        mirror = await self._mirror(url)
        found = mirror.tree(revision)
        if found is None:
            await self.resolve(url, revision)
            found = mirror.tree(revision)
        if found is None:
            raise _not_found(mirror, url, revision)
        return found

    async def refs(self, url: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Branches and tags as the server has them now; raises RepositoryError."""
        await self.fetch(url)
        return (await self._mirror(url)).refs()

    async def changed_paths(
        self, url: str, before: Revision, after: Revision
    ) -> frozenset[str] | None:
        mirror = await self._mirror(url)
        return await asyncio.to_thread(mirror.changed_paths, before, after)

    async def commit(self, url: str, revision: Revision) -> Commit | None:
        return (await self._mirror(url)).commit(revision)

    async def _fetch_commit(self, mirror: Mirror, url: str, commit: str) -> Revision | None:
        async with mirror.lock:
            await mirror.fetch_commit(self._remote(url), commit)
        return mirror.resolve(commit)

    async def _mirror(self, url: str) -> Mirror:
        key = RepositoryKey.of(url)
        known = self._mirrors.get(key)
        if known is not None:
            return known
        async with self._opening:
            if key not in self._mirrors:
                folder = self._settings.folder / f"{key.token}.git"
                opened = await asyncio.to_thread(open_mirror, folder, self._settings.fetch_seconds)
                self._mirrors[key] = opened
        return self._mirrors[key]

    def _remote(self, url: str) -> Remote:
        clean, written = split_user(url)
        credential = self._credentials.for_url(clean) or written
        remote = Remote(url=clean, credential=credential, authority=self._authority(clean))
        if credential and credential.problem:
            raise unusable(remote, credential.problem)
        if credential and credential.ignored and credential.secret not in self._told:
            self._told.add(credential.secret)
            _log.warning(
                "secret fields not acted on", secret=credential.secret, fields=credential.ignored
            )
        return remote


def _not_found(mirror: Mirror, url: str, target: str) -> RepositoryError:
    clean, _ = split_user(url)
    if is_range(target):
        message = (
            f"{target!r} is a range of versions, which this version does not resolve; "
            f"name a branch, a tag or a commit of {clean}"
        )
        return RepositoryError(Reason.REVISION_NOT_FOUND, message)
    names = mirror.nearby(target)
    there = f"there are {', '.join(names)}" if names else "the repository is empty"
    message = f"{clean} has no branch, tag or commit {target or 'HEAD'!r}; {there}"
    return RepositoryError(Reason.REVISION_NOT_FOUND, message)
