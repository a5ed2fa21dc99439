"""The facts of an operation: why none was started, its start, its steps, and its end."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from bus.events.facts import AppFact
from bus.events.sentences import because, counts_in_words, object_in_words, short
from bus.identity import NO_REVISION, Revision
from bus.status import OperationKind, OperationPhase, Reason


class SyncSkipped(AppFact, frozen=True, kw_only=True):
    """Out of sync, and no operation was started: why, and when it is looked at again."""

    name: ClassVar[str] = "sync.skipped.v1"
    reason: Reason
    message: str
    revision: Revision = NO_REVISION
    revisions: tuple[Revision, ...] = ()
    """One for each of several sources, where `revision` is that of the first that renders."""

    @property
    def sentence(self) -> str:
        return f"no sync: {self.message}"


class OperationStarted(AppFact, frozen=True, kw_only=True):
    name: ClassVar[str] = "operation.started.v1"
    operation: str
    """The operation's id."""
    revision: Revision
    revisions: tuple[Revision, ...] = ()
    """As in SyncSkipped."""
    automated: bool = False
    initiated_by: str = ""
    operation_kind: OperationKind = OperationKind.UNKNOWN
    override_window: str = ""
    """The reason why it passes a closed sync window; empty where it does not."""

    @property
    def sentence(self) -> str:
        by = f" by {self.initiated_by}" if self.initiated_by and not self.automated else ""
        operation = _in_words(self.operation_kind, automated=self.automated)
        why = self.override_window
        past = f", past a closed sync window: {why}" if why else ""
        return f"{operation} to {short(self.revision)} started{by}{past}"


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

    @property
    def sentence(self) -> str:
        """The first failure stands there in full: it is what one looks for."""
        counts = {"applied": self.applied, "pruned": self.pruned, "failed": len(self.failed)}
        done = counts_in_words(counts) or "no changes"
        first = next(iter(self.failed), None)
        return f"{done}: {object_in_words(first.resource)}: {first.message}" if first else done


class OperationFinished(AppFact, frozen=True, kw_only=True):
    name: ClassVar[str] = "operation.finished.v1"
    operation: str
    phase: OperationPhase
    revision: Revision
    revisions: tuple[Revision, ...] = ()
    """As in SyncSkipped."""
    message: str = ""
    seconds: float = 0.0
    automated: bool = False
    operation_kind: OperationKind = OperationKind.UNKNOWN

    @property
    def sentence(self) -> str:
        """A success needs no message; its duration is shown from a second on."""
        operation = _in_words(self.operation_kind, automated=self.automated)
        took = f" in {self.seconds:.0f} s" if self.seconds >= 1 else ""
        if self.phase is OperationPhase.SUCCEEDED:
            return f"{operation} succeeded{took}"
        is_error = self.phase is OperationPhase.ERROR
        ended = "could not start" if is_error else self.phase.lower()
        return because(f"{operation} {ended}{took}", self.message)


def _in_words(kind: OperationKind, *, automated: bool) -> str:
    match kind:
        case OperationKind.SELF_HEAL:
            return "self-heal"
        case OperationKind.ROLLBACK:
            return "rollback"
        case OperationKind.AUTO_SYNC:
            return "automated sync"
        case OperationKind.SYNC | OperationKind.UNKNOWN:
            return "automated sync" if automated else "sync"
