"""Push: what every Git host means by "commits arrived", whatever its payload looks like.

Parsers (one module per host) return it. `paths` is None wherever the payload does not name every
changed file for certain: a forced push, a new ref, a shortened commit list. Nobody decides
anything by `paths` alone; the refresh room compares trees.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from enum import StrEnum

import msgspec

from bus.identity import NO_REVISION, Revision
from bus.repository_url import RepositoryUrl, RepositoryUrlError

_BRANCH = "refs/heads/"
_TAG = "refs/tags/"


_REF = re.compile(r"refs/[^\x00-\x20\x7f]{1,1000}")
_BRANCH_NAME = re.compile(r"[^\x00-\x20\x7f]{0,1000}")
_COMMIT = re.compile(r"([0-9a-f]{40}|[0-9a-f]{64})?")
_DELIVERY = re.compile(r"[\x21-\x7e]{0,200}")
_LONGEST_URL = 2000


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


def checked(push: Push) -> Push:
    """The push, if Git could have made it: it becomes part of subjects, headers and marks.

    Raises MalformedPayloadError, which shows nothing of what was sent.
    """
    for name, value, form in (
        ("ref", push.ref, _REF),
        ("before", push.before, _COMMIT),
        ("after", push.after, _COMMIT),
        ("the delivery's id", push.delivery, _DELIVERY),
        ("the default branch", push.default_branch, _BRANCH_NAME),
    ):
        if not form.fullmatch(value):
            raise MalformedPayloadError(f"{name} is none that Git has: expected {form.pattern}")
    if any(len(url) > _LONGEST_URL for url in push.repositories):
        raise MalformedPayloadError(f"a URL is longer than {_LONGEST_URL} characters")
    return push


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
