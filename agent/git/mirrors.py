"""Mirrors keeps a mirror of every repository in the state directory: the port `SourceReader`.

A mirror is kept by the repository's address and by who may see it (RepositoryAccess): no two
repositories share one, nor do those who read with another credential. The address is what the
mirror is kept by and what is fetched. Fetches wait for nobody but a fetch of the same mirror.
Whoever waited for a fetch that began after he asked has what he wants.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Self, TypeVar

import pygit2

from agent.clock import SystemClock
from agent.git.credential_identity import CredentialIdentities, open_identities
from agent.git.credentials import CredentialSource, credential_of
from agent.git.failures import not_found, not_made
from agent.git.fetch_outcomes import FetchOutcomes
from agent.git.lfs_tree import LfsReader, LfsTree
from agent.git.mirror import Mirror, open_mirror
from agent.git.mirror_folder import discard_leftovers, lfs_folder, mirror_token
from agent.git.refs import is_commit
from agent.git.remotes import Remotes
from agent.git.server_trust import MachineTrust, ServerTrust
from agent.git.ssh_connections import SshConnections
from agent.git.tag_choice import chosen_tag, is_range
from agent.git.tree import GitTree
from agent.version_range import VersionChoice
from bus.events import Commit
from bus.identity import Revision
from bus.repository_url import RepositoryUrl, RepositoryUrlError, login_of
from bus.status import Reason
from handlers.application.target_revision import prefix_and_range
from handlers.ports import CommitTree, RepositoryAccess, RepositoryError

Found = TypeVar("Found")
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
        trust: ServerTrust | None = None,
        outcomes: FetchOutcomes | None = None,
        versions: VersionChoice | None = None,
        lfs: LfsReader | None = None,
    ) -> None:
        self.outcomes = outcomes or FetchOutcomes(SystemClock())
        self._settings = settings
        self._credentials = credentials
        self._versions = versions
        self._lfs = lfs
        self._ssh = SshConnections(settings.folder / "ssh")
        self._remotes = Remotes(trust or MachineTrust(), self._ssh)
        self._mirrors: dict[RepositoryAccess, Mirror] = {}
        self._identities = CredentialIdentities(key=b"")
        self._opening = asyncio.Lock()
        self._outdated_at = -float("inf")

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(discard_leftovers, self._settings.folder)
        self._identities = await asyncio.to_thread(open_identities, self._settings.folder)
        await asyncio.to_thread(self._ssh.open)
        return self

    async def __aexit__(self, *_: object) -> None:
        for mirror in self._mirrors.values():
            mirror.close()
        self._mirrors.clear()
        await self._ssh.close()

    def access(self, url: str, project: str = "") -> RepositoryAccess:
        """Raises RepositoryError where `url` names no repository for certain."""
        try:
            address, login = RepositoryUrl.parse(url), login_of(url)
        except RepositoryUrlError as error:
            raise RepositoryError(Reason.INVALID_SPEC, str(error)) from error
        credential = self._credentials.for_url(address, project)
        if credential is None:
            return RepositoryAccess(address, login=login)
        return RepositoryAccess(address, credential.project)

    def outdate(self) -> None:
        """Fetch each mirror before its next answer: another replica may have seen newer commits."""
        self._outdated_at = time.monotonic()

    async def fetch(self, repository: RepositoryAccess) -> None:
        mirror = await self._opened(repository)
        asked = mirror.begun
        async with mirror.lock:
            if mirror.succeeded <= asked:
                await self._fetch(mirror, repository)

    def looked_at(self, repository: RepositoryAccess) -> datetime | None:
        mirror = self._mirrors.get(repository)
        return mirror.looked_at if mirror is not None else None

    async def resolve(self, repository: RepositoryAccess, target_revision: str) -> Revision:
        mirror = await self._mirror(repository)
        if not is_commit(target_revision) and not mirror.fetched_since(self._outdated_at):
            await self.fetch(repository)
        found = await self._found(mirror, repository, target_revision)
        if found is None and not mirror.fetched_within(_RECENT):
            await self.fetch(repository)
            found = await self._found(mirror, repository, target_revision)
        if found is None and is_commit(target_revision):
            found = await self._fetch_commit(mirror, repository, target_revision)
        if found is None:
            raise not_found(repository.url, target_revision, mirror.nearby(target_revision))
        return found

    async def _found(
        self, mirror: Mirror, repository: RepositoryAccess, target: str
    ) -> Revision | None:
        """Resolve in the mirror as it is: as a range of tags first, as Argo CD does."""
        chosen = await self._chosen(mirror, repository, target)
        return mirror.resolve(chosen or prefix_and_range(target)[1])

    async def _chosen(self, mirror: Mirror, repository: RepositoryAccess, target: str) -> str:
        """The whole name of the tag that a range chooses; empty where it is none."""
        if self._versions is None or not is_range(target):
            return ""
        _, tags = await asyncio.to_thread(mirror.refs)
        return await chosen_tag(self._versions, target, tags, project=repository.project)

    async def tag_named(self, repository: RepositoryAccess, target: str) -> str:
        """The whole name of the tag that a target revision means; empty where it means none."""
        mirror = await self._mirror(repository)
        chosen = await self._chosen(mirror, repository, target)
        return chosen or mirror.tag_named(prefix_and_range(target)[1])

    async def look(
        self, repository: RepositoryAccess, look: Callable[[pygit2.Repository], Found]
    ) -> Found:
        """Read the mirror in a thread."""
        mirror = await self._mirror(repository)
        return await asyncio.to_thread(mirror.look, look)

    async def tree(self, repository: RepositoryAccess, revision: Revision) -> CommitTree:
        mirror = await self._mirror(repository)
        found = mirror.tree(revision)
        if found is None:
            await self.resolve(repository, revision)
            found = mirror.tree(revision)
        if found is None:
            raise not_found(repository.url, revision, mirror.nearby(revision))
        return self._with_lfs(repository, found)

    def _with_lfs(self, repository: RepositoryAccess, found: GitTree) -> CommitTree:
        credential = credential_of(self._credentials, repository)
        if self._lfs is None or credential is None or not credential.lfs:
            return found
        remote = partial(self._remotes.signed_in, repository.url, credential)
        return LfsTree(found, self._lfs(lfs_folder(self._settings.folder, repository), remote))

    async def refs(self, repository: RepositoryAccess) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Branches and tags as the server has them now; raises RepositoryError."""
        await self.fetch(repository)
        return (await self._mirror(repository)).refs()

    async def changed_paths(
        self, repository: RepositoryAccess, before: Revision, after: Revision
    ) -> frozenset[str] | None:
        mirror = await self._opened(repository)
        if not self._serves(mirror, repository):
            return None
        return await asyncio.to_thread(mirror.changed_paths, before, after)

    async def reaches(self, repository: RepositoryAccess, tip: Revision, wanted: Revision) -> bool:
        """Whether `wanted` is `tip` or one of its ancestors."""
        mirror = await self._mirror(repository)
        return await asyncio.to_thread(mirror.reaches, tip, wanted)

    async def commit(self, repository: RepositoryAccess, revision: Revision) -> Commit | None:
        mirror = await self._opened(repository)
        return mirror.commit(revision) if self._serves(mirror, repository) else None

    async def _fetch(self, mirror: Mirror, repository: RepositoryAccess) -> None:
        credential = credential_of(self._credentials, repository)
        try:
            remote = await self._remotes.signed_in(repository.url, credential)
            await mirror.fetch(remote, self._identities.of(credential))
        except RepositoryError as error:
            if error.reason is Reason.CREDENTIALS_REFUSED:
                self._remotes.refused(repository.url, credential)
            self.outcomes.record(str(repository.url), credential, error.message)
            raise
        self.outcomes.record(str(repository.url), credential)

    async def _fetch_commit(
        self, mirror: Mirror, repository: RepositoryAccess, commit: str
    ) -> Revision | None:
        async with mirror.lock:
            credential = credential_of(self._credentials, repository)
            remote = await self._remotes.signed_in(repository.url, credential)
            await mirror.fetch_commit(remote, commit)
        return mirror.resolve(commit)

    async def _mirror(self, repository: RepositoryAccess) -> Mirror:
        """Open a mirror; what a withdrawn login left there is for those who can fetch it."""
        mirror = await self._opened(repository)
        if not self._serves(mirror, repository):
            await self.fetch(repository)
        return mirror

    def _serves(self, mirror: Mirror, repository: RepositoryAccess) -> bool:
        return mirror.serves(self._identities.of(credential_of(self._credentials, repository)))

    async def _opened(self, repository: RepositoryAccess) -> Mirror:
        known = self._mirrors.get(repository)
        if known is not None:
            return known
        async with self._opening:
            if repository not in self._mirrors:
                self._mirrors[repository] = await asyncio.to_thread(self._open, repository)
        return self._mirrors[repository]

    def _open(self, repository: RepositoryAccess) -> Mirror:
        """Blocking. Raises RepositoryError: what fails here is the agent's own disk."""
        token = mirror_token(repository)
        folder = self._settings.folder / f"{token}.git"
        mark = f"{token} {repository.url}"
        try:
            return open_mirror(folder, mark, self._settings.fetch_seconds)
        except (pygit2.GitError, OSError) as error:
            credential = credential_of(self._credentials, repository)
            remote = self._remotes.of(repository.url, credential)
            raise not_made(remote, str(error)) from error
