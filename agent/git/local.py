"""A commit of a repository on this machine's disk, for offline tools: no mirror, no fetch."""

from __future__ import annotations

from pathlib import Path

import pygit2

from agent.git.tree import GitTree, Objects
from bus.identity import Revision
from bus.status import Reason
from handlers.ports import RepositoryError


def open_commit(folder: Path, revision: str) -> tuple[GitTree, Revision]:
    """Whatever `git rev-parse` understands as `revision`. Blocking; raises RepositoryError."""
    try:
        repository = pygit2.Repository(str(folder))
        commit = repository.revparse_single(revision or "HEAD").peel(pygit2.Commit)
    except (pygit2.GitError, KeyError, ValueError) as error:
        message = f"{folder} has no revision {revision or 'HEAD'}: {error}"
        raise RepositoryError(Reason.REVISION_NOT_FOUND, message) from error
    return GitTree(Objects(repository), str(commit.tree_id)), Revision(str(commit.id))
