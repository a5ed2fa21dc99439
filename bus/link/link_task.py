"""LinkTask is a task on the wire; TaskProgress and TaskResult are what the agent reports of it.

The id is the idempotency key: the agent keeps the result of each write for seven days, and a task
that is offered again gets the recorded result. The kinds of task are in bus/link/tasks.py.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from bus.link.object_arguments import TaskArguments
from bus.link.task_classes import TaskPriority
from bus.link.tasks import TaskKind
from bus.link.wire import WireValue


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


class LinkTask(WireValue, frozen=True, kw_only=True):
    id: str
    kind: TaskKind
    subject: str
    """`namespace/name` of what it is about; empty for agent-wide ones."""
    actor: str
    """Who asked, for the operation's `initiatedBy` and the audit."""
    arguments: dict[str, Any] = {}
    """As they came; `arguments_of` reads them as the type of the kind."""
    priority: TaskPriority = msgspec.field(name="clazz", default=TaskPriority.INTERACTIVE)
    """`clazz` on the wire, as in the first version of the protocol."""
    precondition: dict[str, str] = {}
    """`uid`, `resourceVersion`, `revision`: refused with `conflict` where the world differs."""
    not_after: str = ""
    """RFC 3339: not begun after this moment."""
    fence: int = 0
    traceparent: str = ""
    """W3C Trace Context of the service's span; empty from a service that has no traces."""
    tracestate: str = ""


def arguments_of(task: LinkTask) -> TaskArguments:
    """Read the arguments of a task as the type of its kind.

    Raises msgspec.ValidationError, which names the field of the wrong type.
    """
    return msgspec.convert(task.arguments, task.kind.row.arguments)


def wire_arguments(arguments: TaskArguments) -> dict[str, Any]:
    """The arguments as they stand in a LinkTask: JSON values, without fields at their default."""
    fields: dict[str, Any] = msgspec.to_builtins(arguments)
    return fields


class TaskProgress(WireValue, frozen=True, kw_only=True):
    """Also renews the lease."""

    id: str
    message: str = ""
    done: int = 0
    total: int = 0


class TaskResult(WireValue, frozen=True, kw_only=True):
    id: str
    phase: TaskPhase
    code: str = ""
    """`ok`, `not_allowed`, `not_found`, `conflict`, `invalid`, `unsupported`, `unreachable`,
    `expired`, `cancelled`, `failed`."""
    message: str = ""
    body: Any = None
    """Redacted; at most 256 KiB encoded."""
