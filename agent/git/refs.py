"""Target revisions: how a mirror resolves one, and what each was resolved to last.

A target revision is resolved as HEAD, branch, tag or commit, in this order. As in Argo CD a name is
looked for among the branches, then among the tags (a tag of a tag is followed to its commit), then
read as a commit id of 7 to 40 digits. Who has a range over tags in his hands asks for the tags by
`tags`, and resolves the one that was chosen by its whole name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pygit2

from agent.similar_names import similar_names
from bus.identity import NO_REVISION, RepositoryKey, Revision
from handlers.ports import RepositoryAccess

HEAD = "refs/house/head"
"""Where a fetch keeps the commit of the remote's HEAD."""

BRANCHES = "refs/heads/"
TAGS = "refs/tags/"

_COMMIT = re.compile(r"[0-9a-f]{40}")
_ABBREVIATED = re.compile(r"[0-9a-f]{7,39}")


def is_commit(target: str) -> bool:
    """Whether `target` is a whole commit id."""
    return _COMMIT.fullmatch(target) is not None


def resolve(repository: pygit2.Repository, target: str) -> Revision | None:
    """The commit that `target` means, or None."""
    if target in ("", "HEAD"):
        return _commit_of(repository, HEAD)
    for name in _names(target):
        if found := _commit_of(repository, name):
            return found
    if is_commit(target) or _ABBREVIATED.fullmatch(target):
        return _commit_by_id(repository, target)
    return None


def tag_named(repository: pygit2.Repository, target: str) -> str:
    """The whole name of the tag that `target` means; empty where it means something else."""
    if target in ("", "HEAD"):
        return ""
    names = (name for name in _names(target) if _commit_of(repository, name))
    found = next(names, "")
    return found if found.startswith(TAGS) else ""


def nearby(repository: pygit2.Repository, target: str) -> tuple[str, ...]:
    """Up to five branches and tags to name in an error: similar ones first, any where none is."""
    return similar_names(target, sorted(_all_names(repository)))


def branches_and_tags(repository: pygit2.Repository) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names without their prefix, sorted."""
    names = tuple(repository.references)

    def below(prefix: str) -> tuple[str, ...]:
        return tuple(sorted(n.removeprefix(prefix) for n in names if n.startswith(prefix)))

    return below(BRANCHES), below(TAGS)


def _names(target: str) -> tuple[str, ...]:
    if target.startswith((BRANCHES, TAGS)):
        return (target,)
    return (BRANCHES + target, TAGS + target)


def _all_names(repository: pygit2.Repository) -> Iterator[str]:
    for name in repository.references:
        for kind in (BRANCHES, TAGS):
            if name.startswith(kind):
                yield name.removeprefix(kind)


def _commit_of(repository: pygit2.Repository, name: str) -> Revision | None:
    try:
        reference = repository.references.get(name)
        return Revision(str(reference.peel(pygit2.Commit).id)) if reference else None
    except (pygit2.GitError, ValueError):
        return None  # not a possible name of a ref, or not a commit


def _commit_by_id(repository: pygit2.Repository, digits: str) -> Revision | None:
    try:
        found = repository.get(digits)
    except ValueError:
        return None  # several objects begin so
    return Revision(str(found.id)) if isinstance(found, pygit2.Commit) else None


class ResolvedRefs:
    """Keeps the last revision of each target revision in memory (`ports.KnownRefs`).

    After a restart every repository is refreshed once, and published revisions are not
    repeated.
    """

    def __init__(self) -> None:
        self._revisions: dict[tuple[RepositoryAccess, str], Revision] = {}
        self._published: dict[tuple[RepositoryKey, str], Revision] = {}

    def last(self, repository: RepositoryAccess, target_revision: str) -> Revision:
        return self._revisions.get((repository, target_revision), NO_REVISION)

    def published(self, repository: RepositoryKey, target_revision: str) -> Revision:
        return self._published.get((repository, target_revision), NO_REVISION)

    def recall_published(
        self, repository: RepositoryKey, target_revision: str, revision: Revision
    ) -> None:
        """Note what an earlier process published, so that a refresh does not repeat it."""
        self._published[repository, target_revision] = revision

    def remember(
        self, repository: RepositoryAccess, target_revision: str, revision: Revision
    ) -> None:
        self._revisions[repository, target_revision] = revision
        self._published[repository.key, target_revision] = revision
