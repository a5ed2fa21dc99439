"""The table of task kinds: what the service may ask of an agent, one row and one type each.

A row says which arguments a kind takes, whether it changes anything, how its output travels, how
urgent it is and which namespaces it touches. The service builds values of these types; the agent
reads them by the row. docs/extend/task-kind.md adds a kind.

Fields at their default are left out of the wire, and unknown fields are ignored: a new field with a
default is understood by older agents and services, a changed default is not.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from bus.link.kinds import APPLICATION
from bus.link.object_arguments import (
    ActionsArguments,
    DeleteObjectArguments,
    EditObjectArguments,
    EventsArguments,
    EventStreamArguments,
    ExecArguments,
    LinksArguments,
    LiveArguments,
    LogsArguments,
    ObjectArguments,
    ObjectPreviewArguments,
    RunActionArguments,
    TaskArguments,
)
from bus.link.task_classes import TaskPriority, TaskScope
from bus.link.wire import WireValue


class SyncArguments(TaskArguments, frozen=True, kw_only=True):
    """`options` replace those of the Application, for this operation only."""

    revision: str = ""
    revisions: tuple[str, ...] = ()
    """In place of `revision` for an Application with `spec.sources`: one for each, empty for the
    target revision of its source."""
    prune: bool = False
    dry_run: bool = False
    resources: tuple[ObjectArguments, ...] = ()
    options: tuple[str, ...] = ()
    override: bool = False
    """Whether the requester may deviate from the target revision and options of the Application."""
    override_window: bool = False
    """Whether it passes a closed sync window, which the requester may; `reason` says why."""
    reason: str = ""


class RefreshArguments(TaskArguments, frozen=True, kw_only=True):
    hard: bool = False


class TerminateArguments(TaskArguments, frozen=True, kw_only=True):
    """No arguments: the running operation is terminated."""


class ConfirmDeletionArguments(TaskArguments, frozen=True, kw_only=True):
    """No arguments: whatever waits for an approval now is approved."""


class RollbackArguments(TaskArguments, frozen=True, kw_only=True):
    history_id: int
    prune: bool = False
    dry_run: bool = False


class SecretRef(WireValue, frozen=True, kw_only=True):
    """A Secret of the control namespace that holds the credential; `key`: only that entry of it."""

    name: str
    namespace: str = ""
    key: str = ""


class PutArguments(TaskArguments, frozen=True, kw_only=True):
    """The `manifest` of an Application or AppProject, or else the fields of a connection of `kind`.

    `spec` holds the fields that Argo CD has for the kind, without credentials; those come as a
    reference, or `sealed`: a box for the agent's key with JSON of such fields. `text` is public: a
    certificate, known hosts, a GnuPG key.
    """

    kind: str = APPLICATION.name
    manifest: dict[str, Any] | None = None
    create: bool = False
    """Fail if the object exists."""
    name: str = ""
    url: str = ""
    type: str = ""
    project: str = ""
    text: str = ""
    spec: dict[str, Any] = {}
    secret_ref: SecretRef | None = None
    sealed: str = ""


class DeleteArguments(TaskArguments, frozen=True, kw_only=True):
    """`cascade` also deletes the objects that the application deployed."""

    kind: str = APPLICATION.name
    cascade: bool = True


class RefsArguments(TaskArguments, frozen=True, kw_only=True):
    """`project` selects the credentials: the repository is read as for its Applications."""

    url: str = ""
    project: str = ""
    limit: int = 500


class ManifestsArguments(TaskArguments, frozen=True, kw_only=True):
    revision: str = ""
    revisions: tuple[str, ...] = ()
    """As of a sync."""


class DiffArguments(SyncArguments, frozen=True, kw_only=True):
    """A diff at `revision` or at a history entry; `preview` also asks what a sync would do."""

    history_id: int | None = None
    preview: bool = False


class TreeArguments(TaskArguments, frozen=True, kw_only=True):
    """No arguments: the tree has all objects of the application."""


class SyncWindowsArguments(TaskArguments, frozen=True, kw_only=True):
    """The windows of the AppProject `project`; without one, those that concern the Application."""

    project: str = ""


class TaskKind(StrEnum):
    """The name of each kind on the wire; its row says the rest."""

    SYNC = "sync"
    REFRESH = "refresh"
    TERMINATE = "terminate"
    ROLLBACK = "rollback"
    CONFIRM_DELETION = "confirm-deletion"
    """Approve the deletions that wait for a person (`Prune=confirm`, `Delete=confirm`)."""
    PUT = "put"
    """Create or update an Application, project, repository, certificate, key or cluster."""
    DELETE = "delete"
    REFS = "refs"
    """Branches and tags of a repository."""
    MANIFESTS = "manifests"
    DIFF = "diff"
    LINKS = "links"
    LIVE = "live"
    TREE = "tree"
    SYNC_WINDOWS = "sync-windows"
    """The calendar of sync windows: when they are active, and what they leave open."""
    EVENTS = "events"
    EVENT_STREAM = "event-stream"
    """Events as they come, a line of JSON each; see up.Chunk."""
    LOGS = "logs"
    EXEC = "exec"
    """A shell in a container, with input over the link: see down.TerminalInput."""
    ACTIONS = "actions"
    """The resource actions of one live object."""
    OBJECT_PREVIEW = "object-preview"
    """What an action, an edit or a deletion would change."""
    RUN_ACTION = "run-action"
    EDIT_OBJECT = "edit-object"
    DELETE_OBJECT = "delete-object"

    @property
    def row(self) -> TaskKindRow:
        return _ROWS[self]

    @property
    def writes(self) -> bool:
        return self.row.writes

    @property
    def counts_as_write(self) -> bool:
        """Whether the owner's policy treats it as a write: readOnly, and the budget of a minute."""
        return self.row.writes or self.row.probes


class TaskKindRow(msgspec.Struct, frozen=True, kw_only=True):
    kind: TaskKind
    arguments: type[TaskArguments]
    """The type that takes the kind's arguments; no two kinds share one."""
    scope: TaskScope = TaskScope.APPLICATION
    priority: TaskPriority = TaskPriority.INTERACTIVE
    """Unless a request asks for another one."""
    writes: bool = False
    """Whether it may change something: then it is recorded, and never done twice."""
    probes: bool = False
    """Whether its answer depends on values that are hidden, so that it can be used for guesses."""
    streams: bool = False
    """Whether its output comes in chunks beside its result."""
    ends_itself: bool = False
    """Whether a cancelled task goes on until its operation in the cluster has ended."""

    @property
    def repeatable(self) -> bool:
        """Whether a task that was cut off may be done again without a look at the cluster."""
        return not self.writes


K, _OBJECT = TaskKind, TaskScope.OBJECT
TASKS: tuple[TaskKindRow, ...] = (
    TaskKindRow(kind=K.SYNC, arguments=SyncArguments, writes=True, ends_itself=True),
    TaskKindRow(kind=K.REFRESH, arguments=RefreshArguments, writes=True),
    TaskKindRow(kind=K.TERMINATE, arguments=TerminateArguments, writes=True),
    TaskKindRow(kind=K.ROLLBACK, arguments=RollbackArguments, writes=True, ends_itself=True),
    TaskKindRow(kind=K.CONFIRM_DELETION, arguments=ConfirmDeletionArguments, writes=True),
    TaskKindRow(kind=K.PUT, arguments=PutArguments, scope=TaskScope.WRITTEN, writes=True),
    TaskKindRow(kind=K.DELETE, arguments=DeleteArguments, scope=TaskScope.WRITTEN, writes=True),
    TaskKindRow(kind=K.REFS, arguments=RefsArguments, scope=TaskScope.AGENT),
    TaskKindRow(kind=K.MANIFESTS, arguments=ManifestsArguments),
    TaskKindRow(kind=K.DIFF, arguments=DiffArguments),
    TaskKindRow(kind=K.LINKS, arguments=LinksArguments),
    TaskKindRow(kind=K.LIVE, arguments=LiveArguments, scope=_OBJECT),
    TaskKindRow(kind=K.TREE, arguments=TreeArguments),
    TaskKindRow(kind=K.SYNC_WINDOWS, arguments=SyncWindowsArguments, scope=TaskScope.AGENT),
    TaskKindRow(kind=K.EVENTS, arguments=EventsArguments),
    TaskKindRow(kind=K.EVENT_STREAM, arguments=EventStreamArguments, streams=True),
    TaskKindRow(kind=K.LOGS, arguments=LogsArguments, streams=True),
    TaskKindRow(kind=K.EXEC, arguments=ExecArguments, scope=_OBJECT, writes=True, streams=True),
    TaskKindRow(kind=K.ACTIONS, arguments=ActionsArguments, scope=_OBJECT),
    TaskKindRow(
        kind=K.OBJECT_PREVIEW, arguments=ObjectPreviewArguments, scope=_OBJECT, probes=True
    ),
    TaskKindRow(kind=K.RUN_ACTION, arguments=RunActionArguments, scope=_OBJECT, writes=True),
    TaskKindRow(kind=K.EDIT_OBJECT, arguments=EditObjectArguments, scope=_OBJECT, writes=True),
    TaskKindRow(kind=K.DELETE_OBJECT, arguments=DeleteObjectArguments, scope=_OBJECT, writes=True),
)
_ROWS = {row.kind: row for row in TASKS}
_KINDS = {row.arguments: row.kind for row in TASKS}


def kind_of(arguments: type[TaskArguments]) -> TaskKind:
    """The kind of task that takes arguments of this type."""
    return _KINDS[arguments]
