"""Revisions of an Application: the one of `spec.source`, or one for each of `spec.sources`. Pure.

Argo CD writes them in two fields, `revision` and `revisions`, of which one is empty: in the status,
in its history and in operations. Here they are one value, so that nobody compares half of it. An
Application with one entry in `spec.sources` has `revisions`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from bus.identity import NO_REVISION, Revision
from handlers.application.spec import Source
from handlers.application.target_revision import asked_revision

_COMMIT_DIGITS = 40
_FACT_BYTES = 1024
"""Bytes: twenty commits."""


class RevisionFields(Protocol):
    """A value with the two fields of Argo CD."""

    @property
    def revision(self) -> str: ...
    @property
    def revisions(self) -> tuple[str, ...]: ...


class Revisions(msgspec.Struct, frozen=True):
    """The revisions as a status has them; false where there are none."""

    revision: Revision = NO_REVISION
    revisions: tuple[Revision, ...] = ()
    """One for each source, in their order; empty for an Application with `spec.source`."""

    @classmethod
    def of(cls, fields: RevisionFields | None) -> Revisions:
        if fields is None:
            return NO_REVISIONS
        if fields.revisions:
            return cls(revisions=tuple(Revision(one) for one in fields.revisions))
        return cls(Revision(fields.revision))

    @property
    def each(self) -> tuple[Revision, ...]:
        """The revisions, one for each source."""
        return self.revisions or ((self.revision,) if self.revision else ())

    @property
    def in_fact(self) -> tuple[Revision, ...]:
        """Those of several sources, where a fact, which is small, has room for them."""
        return self.revisions if sum(map(len, self.revisions)) <= _FACT_BYTES else ()

    def main(self, sources: Sequence[Source] = ()) -> Revision:
        """The revision of the first source that renders, by which people know a deployment."""
        pairs = zip(self.revisions, sources, strict=False)
        rendered = (revision for revision, source in pairs if source.renders)
        first = self.revisions[0] if self.revisions else self.revision
        return next(rendered, first)

    @property
    def short(self) -> str:
        """The begin of each revision, for a message."""
        return ", ".join(map(_short, self.each))

    def __bool__(self) -> bool:
        return any(self.each)

    def __str__(self) -> str:
        return ",".join(self.each)


def one_for_each(named: Sequence[str], sources: int) -> tuple[str, ...]:
    """The revisions that are named, one for each source; empty where none is named for it."""
    return (*named, *("" for _ in range(sources - len(named))))


def targets_of(named: Sequence[str], sources: Sequence[Source]) -> tuple[str, ...]:
    """What to look for of each source: the revision named for it, else its target revision."""
    pairs = zip(one_for_each(named, len(sources)), sources, strict=False)
    return tuple(asked_revision(source, one) for one, source in pairs)


def _short(revision: str) -> str:
    """Shorten a commit or a digest; a version stays whole."""
    algorithm, colon, digits = revision.rpartition(":")
    if colon:
        return f"{algorithm}:{digits[:7]}"
    return revision[:7] if len(revision) == _COMMIT_DIGITS else revision


NO_REVISIONS = Revisions()
