"""Facts tell subscribers what happened, in the past tense; docs/events.md is made from them.

They hold no manifest body, no secret, and no state that a subscriber could take for current later.
Each has its sentence, which the command line, the demo and the dashboard show. Those of operations
stand in `operation_facts`.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from bus.events.event import Fact
from bus.events.sentences import (
    because,
    counted,
    counts_in_words,
    revision_in_words,
    short,
    trouble_in_words,
)
from bus.identity import NO_DIGEST, NO_REVISION, AppKey, Digest, RepositoryKey, Revision
from bus.status import Cause, HealthStatus, Reason, SyncStatus


class AppFact(Fact, frozen=True, kw_only=True):
    """A fact about one application; `project` lets subscribers filter."""

    app: AppKey
    project: str = "default"

    @property
    def key(self) -> AppKey:
        return self.app


class Commit(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Author, first line and time of a commit; masked where a text looks like a secret."""

    author: str = ""
    """The name only, no mail address."""
    message: str = ""
    """The first line, at most 200 characters."""
    time: str = ""
    """RFC 3339, when it was committed."""


class RevisionResolved(Fact, frozen=True, kw_only=True):
    """A target revision now means another commit; `touched` of `watching` apps are rendered."""

    name: ClassVar[str] = "revision.resolved.v1"
    repository: RepositoryKey
    target_revision: str
    revision: Revision
    before: Revision = NO_REVISION
    watching: int = 0
    touched: int = 0
    commit: Commit | None = None
    """Its `author` (a name), `message` (first line) and `time`, where the mirror tells them."""

    @property
    def key(self) -> RepositoryKey:
        return self.repository

    @property
    def sentence(self) -> str:
        return f"{revision_in_words(self.revision)} touches {self.touched} of {self.watching}"


class RefreshFailed(Fact, frozen=True, kw_only=True):
    """The repository could not be fetched or read; the fetch is tried again automatically."""

    name: ClassVar[str] = "refresh.failed.v1"
    repository: RepositoryKey
    reason: Reason
    message: str
    retry_after: float = 0.0
    """Seconds until the next try."""

    @property
    def key(self) -> RepositoryKey:
        return self.repository

    @property
    def sentence(self) -> str:
        return f"{self.reason}: {self.message}"


class ManifestsRendered(AppFact, frozen=True, kw_only=True):
    """The desired state at `revision` is artifact `digest`; `cached` if nothing was evaluated."""

    name: ClassVar[str] = "manifests.rendered.v1"
    revision: Revision
    revisions: tuple[Revision, ...] = ()
    """One for each of several sources, where `revision` is that of the first that renders."""
    digest: Digest
    objects: int
    cached: bool = False

    @property
    def sentence(self) -> str:
        how = "unchanged" if self.cached else "rendered"
        return f"{counted(self.objects, 'object')} {how} at {short(self.revision)}"


class UnprovenCommit(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A commit or tag whose signature does not prove what the project demands."""

    commit: str
    """The id of the commit, or of the object of the tag."""
    tag: str = ""
    """Name of the annotated tag, where its signature counts."""
    author: str = ""
    """The name only, no mail address, of who wrote the commit or made the tag."""
    problem: str
    key: str = ""
    """The key that signed it, where one is known."""
    expected: str
    """Whose signatures the project demands."""


class RenderFailed(AppFact, frozen=True, kw_only=True):
    """The desired state is not known: nothing is applied, nothing is pruned."""

    name: ClassVar[str] = "manifests.failed.v1"
    reason: Reason
    message: str
    revision: Revision = NO_REVISION
    file: str = ""
    line: int = 0
    unproven: UnprovenCommit | None = None
    """The first commit that is not proven, where the reason is `SourceUnproven`."""

    @property
    def sentence(self) -> str:
        return f"{self.reason}: {self.message}"


class DriftedObject(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How one object differs; no values, they may be secret."""

    object: str
    """`group/kind/namespace/name`."""
    fields: tuple[str, ...] = ()
    """At most five paths, none where the object is missing or extra."""
    manager: str = ""
    """Whose write is newer than our last apply, as `managedFields` says: `kubectl-edit`."""


class Compared(AppFact, frozen=True, kw_only=True):
    """Desired and live were paired."""

    name: ClassVar[str] = "app.compared.v1"
    status: SyncStatus
    revision: Revision
    revisions: tuple[Revision, ...] = ()
    """As in ManifestsRendered."""
    digest: Digest = NO_DIGEST
    changed: int = 0
    """Objects that differ."""
    missing: int = 0
    extra: int = 0
    """Objects that Git no longer has."""
    drifted: tuple[str, ...] = ()
    """Up to ten of them as `group/kind/namespace/name`."""
    details: tuple[DriftedObject, ...] = ()
    """How those differ and who wrote them last: as many as fit, at most ten."""

    @property
    def sentence(self) -> str:
        counts = {"changed": self.changed, "missing": self.missing, "to prune": self.extra}
        return f"{self.status}: {counts_in_words(counts) or 'no differences'}"


class HealthAssessed(AppFact, frozen=True, kw_only=True):
    """The application's health changed."""

    name: ClassVar[str] = "health.assessed.v1"
    status: HealthStatus
    before: HealthStatus = HealthStatus.UNKNOWN
    message: str = ""
    sync: SyncStatus = SyncStatus.UNKNOWN
    cause: Cause | None = None
    """The deepest ill object, where one is known."""

    @property
    def sentence(self) -> str:
        return because(f"health {self.before} → {self.status}", self._reason())

    def _reason(self) -> str:
        if self.cause is None:
            return self.message
        return trouble_in_words(self.cause.object, self.cause.reason, self.cause.message)


class CommandRefused(AppFact, frozen=True, kw_only=True):
    """Somebody published a command that this agent did not sign: it was not carried out."""

    name: ClassVar[str] = "command.refused.v1"
    command: str
    """The command's type, e.g. `sync.v1`."""
    command_id: str
    claimed_actor: str
    """Who wanted it, as the unproven message says."""
    message: str

    @property
    def sentence(self) -> str:
        return f"{self.command} by {self.claimed_actor} refused: {self.message}"


class AppDeleted(AppFact, frozen=True, kw_only=True):
    """The Application is gone, with what it deployed where its finalizer asked for that."""

    name: ClassVar[str] = "app.deleted.v1"
    pruned: int = 0

    @property
    def sentence(self) -> str:
        pruned = f", {counted(self.pruned, 'object')} pruned" if self.pruned else ""
        return f"Application deleted{pruned}"
