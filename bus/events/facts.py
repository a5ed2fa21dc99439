"""Facts: what happened, in the past tense, for whoever cares. docs/events.md is made from them.

No manifest body, no secret, no state that a subscriber could mistake for the truth later.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from bus.cause import Cause
from bus.events.event import Fact
from bus.identity import NO_DIGEST, NO_REVISION, AppKey, Digest, RepositoryKey, Revision
from bus.status import HealthStatus, OperationKind, OperationPhase, Reason, SyncStatus


class AppFact(Fact, frozen=True, kw_only=True):
    """A fact about one application; `project` lets subscribers filter."""

    app: AppKey
    project: str = "default"

    @property
    def key(self) -> AppKey:
        return self.app


class Commit(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who wrote a commit, what for, and when; masked where it looks like a secret."""

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


class RefreshFailed(Fact, frozen=True, kw_only=True):
    """The repository could not be fetched or read; it is tried again by itself."""

    name: ClassVar[str] = "refresh.failed.v1"
    repository: RepositoryKey
    reason: Reason
    message: str
    retry_after: float = 0.0
    """Seconds until the next try."""

    @property
    def key(self) -> RepositoryKey:
        return self.repository


class ManifestsRendered(AppFact, frozen=True, kw_only=True):
    """The desired state at `revision` is artifact `digest`; `cached` if nothing was evaluated."""

    name: ClassVar[str] = "manifests.rendered.v1"
    revision: Revision
    digest: Digest
    objects: int
    cached: bool = False


class RenderFailed(AppFact, frozen=True, kw_only=True):
    """The desired state is not known: nothing is applied, nothing is pruned."""

    name: ClassVar[str] = "manifests.failed.v1"
    reason: Reason
    message: str
    revision: Revision = NO_REVISION
    file: str = ""
    line: int = 0


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


class SyncSkipped(AppFact, frozen=True, kw_only=True):
    """Out of sync, and no operation was started: why, and when it is looked at again."""

    name: ClassVar[str] = "sync.skipped.v1"
    reason: Reason
    message: str
    revision: Revision = NO_REVISION


class OperationStarted(AppFact, frozen=True, kw_only=True):
    name: ClassVar[str] = "operation.started.v1"
    operation: str
    """The operation's id."""
    revision: Revision
    automated: bool = False
    initiated_by: str = ""
    operation_kind: OperationKind = OperationKind.UNKNOWN


class ResourceOutcome(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One object of one step: `resource` is `group/kind/namespace/name`."""

    resource: str
    status: str
    message: str = ""


class ResourcesApplied(AppFact, frozen=True, kw_only=True):
    """One step of an operation: one wave was applied or pruned."""

    name: ClassVar[str] = "resources.applied.v1"
    operation: str
    revision: Revision
    wave: int = 0
    applied: int = 0
    pruned: int = 0
    unchanged: int = 0
    failed: tuple[ResourceOutcome, ...] = ()
    """At most ten; the rest is in the Application's status."""


class OperationFinished(AppFact, frozen=True, kw_only=True):
    name: ClassVar[str] = "operation.finished.v1"
    operation: str
    phase: OperationPhase
    revision: Revision
    message: str = ""
    seconds: float = 0.0
    automated: bool = False
    operation_kind: OperationKind = OperationKind.UNKNOWN


class HealthAssessed(AppFact, frozen=True, kw_only=True):
    """The application's health changed."""

    name: ClassVar[str] = "health.assessed.v1"
    status: HealthStatus
    before: HealthStatus = HealthStatus.UNKNOWN
    message: str = ""
    sync: SyncStatus = SyncStatus.UNKNOWN
    cause: Cause | None = None
    """The deepest ill object, where one is known."""


class CommandRefused(AppFact, frozen=True, kw_only=True):
    """Somebody published a command that this agent did not sign: it was not carried out."""

    name: ClassVar[str] = "command.refused.v1"
    command: str
    """The command's type, e.g. `sync.v1`."""
    command_id: str
    claimed_actor: str
    """Who wanted it, as the unproven message says."""
    message: str


class AppDeleted(AppFact, frozen=True, kw_only=True):
    """The Application is gone, with what it deployed where its finalizer asked for that."""

    name: ClassVar[str] = "app.deleted.v1"
    pruned: int = 0
