"""HydratedBranches commits to branches with credentials of their own: the port Branches.

A Secret that reads a repository never writes one, and one that writes is used for nothing else; so
the mirrors here are apart from those that are read. Each attempt fetches the branches, builds the
commit on top of what is there, and pushes it without force: whoever was quicker is not overwritten,
and the next attempt begins with what he pushed. The branch goes first, its note second; killed in
between, the next run finds the commit and adds the note.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Self

import pygit2

from agent.git.credentials import CredentialSource, GitCredential
from agent.git.failures import not_made, push_failure
from agent.git.hydrated_commits import prepare
from agent.git.mirror import Mirror, open_mirror
from agent.git.mirror_folder import mirror_token
from agent.git.remotes import Remotes
from agent.git.server_trust import ServerTrust
from agent.git.ssh_connections import SshConnections
from agent.git.transport import Remote
from bus.identity import HydratedBranch
from bus.repository_url import RepositoryUrl
from bus.status import Reason
from handlers.ports import RepositoryAccess, RepositoryError
from handlers.ports.branches import BranchChange, BranchHead

_ATTEMPTS = 5
_GIT_SECONDS = 90.0
_USE = "written"
_MOVED = (
    "(fetch first)",
    "(non-fast-forward)",
    "cannot lock ref",
    "incorrect old value",
    "reference already exists",
    "failed to update ref",
)
"""How Git and hosts say that a ref is not where it was fetched."""


class _BranchMovedError(Exception):
    """Somebody pushed between our fetch and our push."""


class HydratedBranches:
    """Implements handlers.ports.branches.Branches; `async with` closes the mirrors."""

    def __init__(self, folder: Path, credentials: CredentialSource, trust: ServerTrust) -> None:
        """`credentials` are those that may write, and no others."""
        self._folder = folder
        self._credentials = credentials
        self._ssh = SshConnections(folder / "ssh")
        self._remotes = Remotes(trust, self._ssh)
        self._mirrors: dict[RepositoryAccess, Mirror] = {}
        self._opening = asyncio.Lock()

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self._folder.mkdir, parents=True, exist_ok=True)
        await asyncio.to_thread(self._ssh.open)
        return self

    async def __aexit__(self, *_: object) -> None:
        for mirror in self._mirrors.values():
            mirror.close()
        self._mirrors.clear()
        await self._ssh.close()

    async def change(self, branch: HydratedBranch, change: BranchChange) -> BranchHead:
        url = RepositoryUrl.parse(branch.repository.url)
        credential = self._credentials.for_url(url, branch.project)
        if credential is None:
            raise _without_credential(url, branch.project)
        mirror = await self._opened(RepositoryAccess(url, branch.project), credential)
        async with mirror.lock:
            for _ in range(_ATTEMPTS):
                remote = await self._signed_in(url, credential)
                try:
                    return await _attempt(mirror, remote, branch.branch, change)
                except _BranchMovedError:
                    continue
                except RepositoryError as error:
                    if error.reason is Reason.CREDENTIALS_REFUSED:
                        self._remotes.refused(url, credential)
                    raise
        message = (
            f"{url} branch {branch.branch!r} moved during each of {_ATTEMPTS} attempts to write "
            "it; find out who else pushes to it; it is tried again"
        )
        raise RepositoryError(Reason.REPOSITORY_UNREACHABLE, message)

    async def _signed_in(self, url: RepositoryUrl, credential: GitCredential) -> Remote:
        return replace(await self._remotes.signed_in(url, credential), use=_USE)

    async def _opened(self, access: RepositoryAccess, credential: GitCredential) -> Mirror:
        async with self._opening:
            if access not in self._mirrors:
                self._mirrors[access] = await asyncio.to_thread(self._open, access, credential)
        return self._mirrors[access]

    def _open(self, access: RepositoryAccess, credential: GitCredential) -> Mirror:
        """Blocking. Raises RepositoryError: what fails here is the agent's own disk."""
        token = mirror_token(access)
        try:
            return open_mirror(
                self._folder / f"{token}.git", f"written {token} {access.url}", _GIT_SECONDS
            )
        except (pygit2.GitError, OSError) as error:
            raise not_made(self._remotes.of(access.url, credential), str(error)) from error


async def _attempt(mirror: Mirror, remote: Remote, branch: str, change: BranchChange) -> BranchHead:
    await mirror.fetch_for_writing(remote)
    try:
        made = await asyncio.to_thread(mirror.look, partial(prepare, branch=branch, change=change))
    except (pygit2.GitError, OSError) as error:
        raise not_made(remote, str(error)) from error
    for refspec in (*made.branches, *filter(None, [made.note])):
        await _push(mirror, remote, refspec)
    return BranchHead(made.commit, made.is_new)


async def _push(mirror: Mirror, remote: Remote, refspec: str) -> None:
    ended = await mirror.push(remote, refspec)
    if not ended.code:
        return
    if any(word in ended.complaint for word in _MOVED):
        raise _BranchMovedError
    raise push_failure(remote, ended.complaint, refspec.partition(":")[2])


def _without_credential(url: RepositoryUrl, project: str) -> RepositoryError:
    message = (
        f"{url} cannot be written: no Secret may write there for the AppProject {project!r}. "
        "Create one labelled argocd.argoproj.io/secret-type: repository-write, with this url and a "
        "login that may push; a Secret that reads the repository is never used for it"
    )
    return RepositoryError(Reason.CREDENTIALS_REFUSED, message)
