"""Push: the commits that arrived at a Git host, and the repositories in use that they touch. Pure.

The parser of each provider returns a Push, whatever the host's payload looks like. `paths` is None
wherever the payload does not name every changed file for certain: a forced push, a new ref, a
shortened commit list. No decision rests on `paths` alone: the refresh handler compares trees.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Protocol, TypeVar

import msgspec

from bus.events import RefreshRepository
from bus.identity import NO_REVISION, RepositoryKey, Revision
from bus.repository_url import RepositoryUrl, RepositoryUrlError
from handlers.application.application import Application
from handlers.application.target_revision import asked_revision

_T = TypeVar("_T")
_BRANCH = "refs/heads/"
_TAG = "refs/tags/"
_HEADS = ("", "HEAD")
"""Target revisions that mean the default branch."""
_REF = re.compile(r"refs/[^\x00-\x20\x7f]{1,1000}")
_BRANCH_NAME = re.compile(r"[^\x00-\x20\x7f]{0,1000}")
_COMMIT = re.compile(r"([0-9a-f]{40}|[0-9a-f]{64})?")
_DELIVERY = re.compile(r"[\x21-\x7e]{0,200}")
_LONGEST_URL = 2000
_MOST_REFS = 2000
_MOST_URLS = 20


class MalformedPayloadError(ValueError):
    """The body is not what the host documents: the message names the field and what it expected."""


class RefUpdate(msgspec.Struct, frozen=True, kw_only=True):
    """One ref of a push: where it was, and where it is now."""

    ref: str
    """`refs/heads/main`, `refs/tags/v1`."""
    before: Revision = NO_REVISION
    """Empty for a new ref."""
    after: Revision = NO_REVISION
    """Empty for a deleted ref."""

    @property
    def branch(self) -> str:
        return self.ref.removeprefix(_BRANCH) if self.ref.startswith(_BRANCH) else ""

    @property
    def is_tag(self) -> bool:
        return self.ref.startswith(_TAG)


class Push(RefUpdate, frozen=True, kw_only=True):
    """A push of one ref, and of `further` ones where a host sends several in one delivery."""

    provider: str
    """The name of the webhook provider."""
    event: str
    repositories: tuple[str, ...]
    """Every spelling of the repository's URL that the payload gives, in canonical form."""
    paths: tuple[str, ...] | None = None
    delivery: str = ""
    """The host's id of this delivery: the same when it sends again."""
    default_branch: str = ""
    further: tuple[RefUpdate, ...] = ()

    @classmethod
    def of_updates(
        cls,
        updates: Iterable[RefUpdate],
        *,
        provider: str,
        event: str,
        repositories: tuple[str, ...],
        delivery: str,
        default_branch: str = "",
    ) -> Push:
        """Make the push of a delivery that names several refs, and at least one of them."""
        first, *further = updates
        return cls(
            provider=provider,
            event=event,
            repositories=repositories,
            ref=first.ref,
            before=first.before,
            after=first.after,
            delivery=delivery,
            default_branch=default_branch,
            further=tuple(further),
        )

    @property
    def updates(self) -> tuple[RefUpdate, ...]:
        return (self, *self.further)

    @property
    def identity(self) -> str:
        """Names this delivery of this change.

        Ref and commit are part of it because some hosts repeat a delivery id for events that
        follow from one another.
        """
        if not self.delivery:
            return ""
        return f"{self.provider}:{self.delivery}:{self.ref}:{self.after}"


class PushedCommit(msgspec.Struct, frozen=True, kw_only=True):
    """The changed files of one commit, as the hosts spell them."""

    added: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


def decoded(body: bytes, kind: type[_T], title: str) -> _T:
    """Decode a body of the provider `title`. Raises MalformedPayloadError."""
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as e:
        raise MalformedPayloadError(f"not a {title} push: {e}") from e


def checked(push: Push) -> Push:
    """Return the push if Git could have made it: its values go into subjects and headers.

    Raises MalformedPayloadError, whose message shows nothing of the values.
    """
    if len(push.updates) > _MOST_REFS:
        raise MalformedPayloadError(f"a push of more than {_MOST_REFS} refs")
    refs = [
        part
        for one in push.updates
        for part in (
            ("ref", one.ref, _REF),
            ("before", one.before, _COMMIT),
            ("after", one.after, _COMMIT),
        )
    ]
    for name, value, form in (
        *refs,
        ("the delivery's id", push.delivery, _DELIVERY),
        ("the default branch", push.default_branch, _BRANCH_NAME),
    ):
        if not form.fullmatch(value):
            raise MalformedPayloadError(f"{name} is not one that Git has: expected {form.pattern}")
    if any(len(url) > _LONGEST_URL for url in push.repositories):
        raise MalformedPayloadError(f"a URL is longer than {_LONGEST_URL} characters")
    return push


def paths_of(commits: Iterable[PushedCommit]) -> tuple[str, ...]:
    """Return all paths that any of `commits` names, sorted."""
    named = {path for c in commits for path in (*c.added, *c.modified, *c.removed)}
    return tuple(sorted(named))


def spellings(*urls: str) -> tuple[str, ...]:
    """Return the URLs in canonical form, without repetitions and without what is no repository.

    Raises MalformedPayloadError.
    """
    if len(urls) > _MOST_URLS:
        raise MalformedPayloadError(f"a repository with more than {_MOST_URLS} URLs")
    return tuple(dict.fromkeys(form for url in urls for form in _canonical(url)))


def _canonical(url: str) -> Iterator[str]:
    with suppress(RepositoryUrlError):
        yield str(RepositoryUrl.parse(url))


def revision(text: str) -> Revision:
    """Return a commit id; the all-zero id, by which hosts mean "none", is NO_REVISION."""
    return Revision(text) if text.strip("0") else NO_REVISION


class AppsOfRepository(Protocol):
    def repositories(self, delivery_key: str) -> Sequence[RepositoryKey]:
        """Return the repositories in use that a delivery with this key may be about."""
        ...

    def of_repository(self, repository: RepositoryKey) -> Sequence[Application]: ...


def touched(push: Push, apps: AppsOfRepository) -> tuple[RefreshRepository, ...]:
    """Make an ask per repository in use whose Applications follow the pushed ref.

    An Application may spell its repository differently from the payload (scheme, port, case,
    suffix), and several repositories may look the same to a delivery: each of them is
    refreshed, by its own URL. A tag may satisfy any version range, so tags always count; a
    branch counts where it is the target revision or the default branch of an application that
    follows HEAD.
    """
    targets = _moved_targets(push)
    has_tag = any(one.is_tag for one in push.updates)
    keys = dict.fromkeys(_delivery_keys(push))
    found = dict.fromkeys(url for key in keys for url in apps.repositories(key))
    return tuple(
        RefreshRepository(repository=repository, ref=push.ref)
        for repository in found
        if any(has_tag or _follows(app, targets) for app in apps.of_repository(repository))
    )


def _delivery_keys(push: Push) -> Iterator[str]:
    for url in push.repositories:
        with suppress(RepositoryUrlError):
            yield RepositoryUrl.parse(url).delivery_key


def _follows(app: Application, targets: Container[str]) -> bool:
    return any(
        source.target_revision in targets or asked_revision(source) in targets
        for source in app.followed_sources
    )


def _moved_targets(push: Push) -> Container[str]:
    """Collect the target revisions that a push of branches may move."""
    branches = {one.branch for one in push.updates}
    heads = _HEADS if push.default_branch in ("", *branches) else ()
    named = branches | {one.ref for one in push.updates}
    return named - {*_HEADS} | {*heads}
