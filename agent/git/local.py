"""One revision of a repository on this disk, for offline commands: no mirror, no fetch."""

from __future__ import annotations

from pathlib import Path

import pygit2

from agent.git.tree import GitTree, Objects
from bus.identity import Revision
from bus.status import Reason
from handlers.ports import RepositoryError


def local_commit(folder: Path, revision: str) -> tuple[Revision, GitTree]:
    """Anything `git rev-parse` takes -> the commit and its files; raises RepositoryError."""
    try:
        repository = pygit2.Repository(str(folder))
        commit = repository.revparse_single(revision).peel(pygit2.Commit)
    except (pygit2.GitError, KeyError, ValueError) as e:
        message = f"{folder} has no revision {revision}: {e}"
        raise RepositoryError(Reason.REVISION_NOT_FOUND, message) from e
    return Revision(str(commit.id)), GitTree(Objects(repository), str(commit.tree.id))
