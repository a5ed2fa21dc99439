"""One bare mirror of one repository: fetched by Git's program, read through libgit2.

Fetches of a mirror are serial (`lock`); reads need no lock, because Git only adds objects and
replaces refs by renaming. A fetch that was killed may leave lock files and half-written packs: they
are swept before the lock is given back, and once when the mirror is opened. A mirror that is
damaged is thrown away: the next fetch makes it again.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import pygit2

from agent.git.command import GitRun, run_git
from agent.git.commits import changed_paths, commit_of
from agent.git.failures import failure, has_no_head, is_redirected, overdue
from agent.git.refs import branches_and_tags, nearby, resolve, tag_named
from agent.git.ssh_proxy import proxy_failure
from agent.git.transport import (
    ALL_REFS,
    HEAD_REF,
    WRITTEN_REFS,
    Remote,
    credential_files_of,
    fetch_arguments,
    fetch_environment,
    push_arguments,
)
from agent.git.tree import GitObjectReader, GitTree
from bus.events import Commit
from bus.identity import Revision
from handlers.ports import RepositoryError

Found = TypeVar("Found")
_LEFTOVERS = ("*.lock", "refs/**/*.lock", "objects/pack/tmp_*", "objects/??/tmp_obj_*")
_PINNED = "refs/house/pinned/"
_MARK = "gitops.mirror-of"
_FETCHED_AS = "gitops.fetched-as"
_TIDY_EVERY = 256
"""Fetches between two looks of Git at its own housekeeping, which mostly has nothing to do."""


class Mirror:
    def __init__(self, folder: Path, fetch_seconds: float) -> None:
        self.lock = asyncio.Lock()
        self._folder = folder
        self._fetch_seconds = fetch_seconds
        self._repository = pygit2.Repository(str(folder), pygit2.enums.RepositoryOpenFlag.BARE)
        self._objects = GitObjectReader(self._repository)
        self.begun = 0
        """Fetches begun in this life of the process."""
        self.succeeded = 0
        """The number of the last one that succeeded."""
        self.looked_at: datetime | None = None
        """When the last fetch that succeeded began."""
        self._looked_at = -float("inf")
        self._fetched_from = -float("inf")
        self._fetched_as = _config_of(self._repository, _FETCHED_AS)
        """Whose login fetched last, in an earlier life of the process too; empty for nobody's."""
        self._wants_suffix = False
        """The server has the repository under its URL with `.git` only."""

    def serves(self, identity: str) -> bool:
        """Whether this login has fetched the repository last, so that it may see what is here."""
        return self._fetched_as == f"as:{identity}"

    async def fetch(self, remote: Remote, identity: str) -> None:
        """All branches, tags and HEAD. Raises RepositoryError; call it under `lock`.

        `identity` names the login of `remote`.
        """
        self.begun += 1
        began, began_at = datetime.now(UTC), time.monotonic()
        ended = await self._run(remote, (HEAD_REF, *ALL_REFS))
        if has_no_head(ended.complaint):
            ended = await self._run(remote, ALL_REFS)
        if ended.code:
            raise failure(remote, ended.complaint)
        if not self.serves(identity):
            self._fetched_as = f"as:{identity}"
            with suppress(pygit2.GitError, OSError):  # after a restart it is fetched once more
                self._repository.config[_FETCHED_AS] = self._fetched_as
        self.succeeded = self.begun
        self.looked_at = began
        self._looked_at, self._fetched_from = time.monotonic(), began_at
        if self.succeeded % _TIDY_EVERY == 0:
            await self._tidy(remote)

    async def fetch_for_writing(self, remote: Remote) -> None:
        """Branches and notes of hydrated commits. Raises RepositoryError; call it under `lock`."""
        ended = await self._run(remote, WRITTEN_REFS)
        if ended.code:
            raise failure(remote, ended.complaint)
        self.begun = self.succeeded = self.begun + 1
        if self.succeeded % _TIDY_EVERY == 0:
            await self._tidy(remote)

    async def push(self, remote: Remote, refspec: str) -> GitRun:
        """Push one ref, without force; call it after a fetch, under `lock`."""
        to = remote.with_suffix if self._wants_suffix else remote
        return await self._git(to, push_arguments(str(self._folder), to, refspec))

    async def fetch_commit(self, remote: Remote, commit: str) -> bool:
        """Ask for a commit that no ref leads to; False where the server does not give it away."""
        ended = await self._run(remote, (f"+{commit}:{_PINNED}{commit}",))
        return ended.code == 0

    def fetched_within(self, seconds: float) -> bool:
        return time.monotonic() - self._looked_at < seconds

    def fetched_since(self, since: float) -> bool:
        """Whether a fetch has begun since a time of the monotonic clock, and succeeded."""
        return self._fetched_from >= since

    def resolve(self, target: str) -> Revision | None:
        return resolve(self._repository, target)

    def tag_named(self, target: str) -> str:
        return tag_named(self._repository, target)

    def look(self, look: Callable[[pygit2.Repository], Found]) -> Found:
        """Let somebody read the repository. Blocking."""
        return look(self._repository)

    def nearby(self, target: str) -> tuple[str, ...]:
        return nearby(self._repository, target)

    def refs(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return branches_and_tags(self._repository)

    def tree(self, revision: Revision) -> GitTree | None:
        root = self._root(revision)
        return GitTree(self._objects, root) if root else None

    def changed_paths(self, before: Revision, after: Revision) -> frozenset[str] | None:
        old, new = self._root(before), self._root(after)
        if not (old and new):
            return None
        return changed_paths(self._repository, old, new)

    def reaches(self, tip: Revision, commit: Revision) -> bool:
        """Blocking: walks the history."""
        return tip == commit or self._repository.descendant_of(tip, commit)

    def commit(self, revision: Revision) -> Commit | None:
        return commit_of(self._repository, revision)

    def close(self) -> None:
        self._repository.free()

    def _root(self, revision: Revision) -> str:
        """The id of a commit's tree, or nothing."""
        try:
            found = self._repository.get(revision)
        except ValueError:
            return ""
        return str(found.tree_id) if isinstance(found, pygit2.Commit) else ""

    async def _run(self, remote: Remote, refspecs: tuple[str, ...]) -> GitRun:
        """A redirect is not followed; where there is a form of the URL with `.git`, it is tried.

        GitLab sends there whoever leaves `.git` away. The form is made here, so that the server
        cannot choose where the credential goes.
        """
        if self._wants_suffix:
            return await self._fetch_refs(remote.with_suffix, refspecs)
        ended = await self._fetch_refs(remote, refspecs)
        if remote.with_suffix == remote or not is_redirected(ended.complaint):
            return ended
        again = await self._fetch_refs(remote.with_suffix, refspecs)
        self._wants_suffix = again.code == 0 or has_no_head(again.complaint)
        return again if self._wants_suffix else ended

    async def _fetch_refs(self, remote: Remote, refspecs: tuple[str, ...]) -> GitRun:
        return await self._git(remote, fetch_arguments(str(self._folder), remote, refspecs))

    async def _tidy(self, remote: Remote) -> None:
        """Pack what many small fetches left; not done is no harm."""
        options = ("-c", "gc.autoDetach=false", "--git-dir", str(self._folder))
        with suppress(RepositoryError):
            await self._git(remote, (*options, "gc", "--auto", "--quiet"))

    async def _git(self, remote: Remote, arguments: tuple[str, ...]) -> GitRun:
        """Raises RepositoryError where Git did not come to an end by itself."""
        seconds = self._fetch_seconds
        ended: GitRun | None = None
        try:
            with credential_files_of(remote) as shown:
                environment = fetch_environment(remote, os.environ, seconds, shown)
                ended = await run_git(arguments, environment, seconds, shown.files)
                if ended.code and (word := proxy_failure(shown.proxy)):
                    ended = GitRun(ended.code, word)
        except TimeoutError as error:
            raise overdue(remote, seconds) from error
        except OSError as error:
            raise failure(remote, f"fatal: the program git cannot be run: {error}") from error
        finally:
            if ended is None:
                sweep(self._folder)
        return ended


def open_mirror(folder: Path, mark: str, fetch_seconds: float) -> Mirror:
    """The mirror in `folder`, made where there is none with this mark that can be read. Blocking.

    The mark says of whom the mirror is: what another version kept in a folder of this name, or
    another repository, is nothing to go on with.
    """
    with suppress(pygit2.GitError):
        sweep(folder)
        if mark_of(folder) == mark:
            return Mirror(folder, fetch_seconds)
    shutil.rmtree(folder, ignore_errors=True)
    made = pygit2.init_repository(str(folder), bare=True)
    made.config[_MARK] = mark
    made.free()
    return Mirror(folder, fetch_seconds)


def mark_of(folder: Path) -> str:
    """Empty where nobody has marked it, or it is no repository."""
    try:
        repository = pygit2.Repository(str(folder), pygit2.enums.RepositoryOpenFlag.BARE)
    except pygit2.GitError:
        return ""
    return _config_of(repository, _MARK)


def _config_of(repository: pygit2.Repository, name: str) -> str:
    try:
        return str(repository.config[name])
    except (pygit2.GitError, KeyError):
        return ""


def sweep(folder: Path) -> None:
    """Remove what a killed Git may leave; nobody else works in this folder."""
    for pattern in _LEFTOVERS:
        for path in folder.glob(pattern):
            with suppress(FileNotFoundError):
                path.unlink()
