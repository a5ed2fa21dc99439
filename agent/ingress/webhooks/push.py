"""Push: what every Git host means by "commits arrived", whatever its payload looks like.

Parsers (one module per host) return it. `paths` is None wherever the payload does not name every
changed file for certain: a forced push, a new ref, a shortened commit list. Nobody decides
anything by `paths` alone; the refresh room compares trees.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from enum import StrEnum

import msgspec

from bus.identity import NO_REVISION, Revision
from bus.repository_url import RepositoryUrl, RepositoryUrlError

_BRANCH = "refs/heads/"
_TAG = "refs/tags/"


class Provider(StrEnum):
    GITHUB = "github"
    GITLAB = "gitlab"


class MalformedPayloadError(ValueError):
    """The body is not what the host documents: the message names the field and what it expected."""


class Push(msgspec.Struct, frozen=True, kw_only=True):
    provider: Provider
    event: str
    repositories: tuple[str, ...]
    """Every spelling of the repository's URL that the payload gives, in canonical form."""
    ref: str
    """`refs/heads/main`, `refs/tags/v1`."""
    before: Revision = NO_REVISION
    """Empty for a new ref."""
    after: Revision = NO_REVISION
    """Empty for a deleted ref."""
    paths: tuple[str, ...] | None = None
    delivery: str = ""
    """The host's id of this delivery: the same when it sends again."""
    default_branch: str = ""

    @property
    def branch(self) -> str:
        return self.ref.removeprefix(_BRANCH) if self.ref.startswith(_BRANCH) else ""

    @property
    def is_tag(self) -> bool:
        return self.ref.startswith(_TAG)

    @property
    def identity(self) -> str:
        """Names this delivery of this change.

        Ref and commit are part of it because some hosts repeat a delivery id for events that
        follow from one another.
        """
        if not self.delivery:
            return ""
        return f"{self.provider}:{self.delivery}:{self.ref}:{self.after}"


class Commit(msgspec.Struct, frozen=True, kw_only=True):
    """The changed files of one commit; both hosts spell them alike."""

    added: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


def paths_of(commits: Iterable[Commit]) -> tuple[str, ...]:
    """All paths that any of `commits` names, sorted."""
    named = {path for c in commits for path in (*c.added, *c.modified, *c.removed)}
    return tuple(sorted(named))


def spellings(*urls: str) -> tuple[str, ...]:
    """The given URLs in canonical form, without repetitions and those that name no repository."""
    return tuple(dict.fromkeys(one for url in urls for one in _canonical(url)))


def _canonical(url: str) -> Iterator[str]:
    with suppress(RepositoryUrlError):
        yield str(RepositoryUrl.parse(url))


def revision(text: str) -> Revision:
    """A commit id; the all-zero id by which hosts mean "none" is NO_REVISION."""
    return Revision(text) if text.strip("0") else NO_REVISION
