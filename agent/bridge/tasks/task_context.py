"""Executors: what does the tasks of a kind, what it may use, and how it says that it failed.

An executor gets the task, its arguments in the type of its kind, and the context of this execution.
It returns the body of the result, or raises TaskFailedError with a code of bus/link/link_task.py.
The task runner redacts what it returns. agent/bridge/task_wiring.py has one row for each kind.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import msgspec

from agent.bridge.tasks.task_input import TaskInput
from agent.bridge.transport.link import LinkLostError
from agent.kube.errors import ConflictError, ForbiddenError, NotFoundError
from bus.carrier import CarrierError
from bus.link import LinkTask, TaskArguments, TaskKind, TaskPhase, kind_of
from bus.trace import Trace
from handlers.ports import (
    ApplyRefusedError,
    DestinationUnknownError,
    RepositoryError,
    StaleWriteError,
    UnavailableError,
)

A = TypeVar("A", bound=TaskArguments)


class TaskFailedError(Exception):
    """A task failed; `code` is for programs, the message for people."""

    def __init__(
        self, code: str, message: str, *, phase: TaskPhase = TaskPhase.FAILED, body: Any = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.phase = phase
        self.body = body


class TextStream(Protocol):
    """Sends chunks of text to the requester, limited by the credit that it grants."""

    async def send(self, text: str, dropped: int = 0) -> None:
        """Send `text` when there is credit; raises LinkLostError if the requester is gone."""


@dataclass(slots=True)
class Cancellation:
    """Whether somebody has cancelled the task."""

    requested: bool = False
    _events: list[asyncio.Event] = field(default_factory=list)

    def request(self) -> None:
        self.requested = True
        for event in self._events:
            event.set()

    def subscribe(self, event: asyncio.Event) -> None:
        """Set `event` when the task is cancelled; at once if it is already."""
        self._events.append(event)
        if self.requested:
            event.set()


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskContext:
    """One execution of one task."""

    began: str
    """RFC 3339, of the first execution."""
    repeated: bool
    """Whether an earlier execution was cut off."""
    cancellation: Cancellation = field(default_factory=Cancellation)
    """For the kinds that end themselves; the queue cancels all others from outside."""
    progress: Callable[[str], Awaitable[None]]
    stream: TextStream
    input: TaskInput = field(default_factory=TaskInput)
    """What the requester types, for the kinds that are terminals."""
    trace: Trace = field(default_factory=Trace.start)
    """The span of the task, parent of the spans that it causes."""


Executor = Callable[[LinkTask, TaskContext], Awaitable[Any]]
"""As the task runner calls it. Raises msgspec.ValidationError for arguments of a wrong type."""


def executor_of(
    arguments: type[A], execute: Callable[[LinkTask, A, TaskContext], Awaitable[object]]
) -> tuple[TaskKind, Executor]:
    """One row of the agent's table: the kind that takes `arguments`, and what does its tasks."""

    async def run(task: LinkTask, context: TaskContext) -> object:
        return await execute(task, msgspec.convert(task.arguments, arguments), context)

    return kind_of(arguments), run


ERRORS = (
    TaskFailedError,
    ApplyRefusedError,
    UnavailableError,
    DestinationUnknownError,
    RepositoryError,
    StaleWriteError,
    CarrierError,
    LinkLostError,
    msgspec.MsgspecError,
    TimeoutError,
)
"""The exceptions that an executor may raise; any other is a bug."""


_CODES: tuple[tuple[type[Exception], str], ...] = (
    (NotFoundError, "not_found"),
    (ConflictError, "conflict"),
    (StaleWriteError, "conflict"),
    (ForbiddenError, "not_allowed"),
    (ApplyRefusedError, "invalid"),
    (UnavailableError, "unreachable"),
    (DestinationUnknownError, "not_found"),
    (RepositoryError, "unreachable"),
    (TimeoutError, "unreachable"),
    (LinkLostError, "cancelled"),
    (msgspec.MsgspecError, "invalid"),
)
"""The first matching type counts, so subclasses stand before their bases."""


def failed(error: Exception) -> TaskFailedError:
    if isinstance(error, TaskFailedError):
        return error
    code = next((code for kind, code in _CODES if isinstance(error, kind)), "failed")
    return TaskFailedError(code, str(error) or type(error).__name__)
