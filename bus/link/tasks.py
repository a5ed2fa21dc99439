"""Tasks: what the service wants an agent to do, and what the agent says of it.

The id is the idempotency key: the agent keeps the result of each for seven days, and a task that is
offered again gets the recorded result. Reads are tasks too, of a class that cannot starve the rest.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from bus.link.wire import Value


class TaskClass(StrEnum):
    """Each class has workers of its own."""

    INTERACTIVE = "interactive"
    CONTROL = "control"
    BULK = "bulk"


class TaskKind(StrEnum):
    SYNC = "sync"
    REFRESH = "refresh"
    TERMINATE = "terminate"
    ROLLBACK = "rollback"
    PUT = "put"
    """Create or update an Application, project, repository, certificate, key or cluster."""
    DELETE = "delete"
    REFS = "refs"
    """Branches and tags of a repository."""
    MANIFESTS = "manifests"
    DIFF = "diff"
    LIVE = "live"
    TREE = "tree"
    EVENTS = "events"
    EVENT_STREAM = "event-stream"
    """Events as they come, a line of JSON each: a stream; see up.Chunk."""
    LOGS = "logs"
    """A stream, likewise."""

    @property
    def writes(self) -> bool:
        return self in (
            TaskKind.SYNC,
            TaskKind.REFRESH,
            TaskKind.TERMINATE,
            TaskKind.ROLLBACK,
            TaskKind.PUT,
            TaskKind.DELETE,
        )

    @property
    def streams(self) -> bool:
        return self in (TaskKind.EVENT_STREAM, TaskKind.LOGS)


class TaskPhase(StrEnum):
    QUEUED = "queued"
    OFFERED = "offered"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"
    """The agent was lost while it ran, and the kind cannot be repeated: a person must look."""

    @property
    def final(self) -> bool:
        return self not in (TaskPhase.QUEUED, TaskPhase.OFFERED, TaskPhase.RUNNING)


class Task(Value, frozen=True, kw_only=True):
    id: str
    kind: TaskKind
    subject: str
    """`namespace/name` of what it is about; empty for agent-wide ones."""
    actor: str
    """Who asked, for the operation's `initiatedBy` and the audit."""
    arguments: dict[str, Any] = {}
    clazz: TaskClass = TaskClass.INTERACTIVE
    precondition: dict[str, str] = {}
    """`uid`, `resourceVersion`, `revision`: refused with `conflict` where the world differs."""
    not_after: str = ""
    """RFC 3339: not begun after this moment."""
    fence: int = 0


class TaskProgress(Value, frozen=True, kw_only=True):
    """Also renews the lease."""

    id: str
    message: str = ""
    done: int = 0
    total: int = 0


class TaskResult(Value, frozen=True, kw_only=True):
    id: str
    phase: TaskPhase
    code: str = ""
    """`ok`, `not_allowed`, `not_found`, `conflict`, `invalid`, `unsupported`, `unreachable`,
    `expired`, `cancelled`, `failed`."""
    message: str = ""
    body: Any = None
    """Redacted; at most 256 KiB encoded."""
