"""Doing: what a task may use while it is done, and how it fails.

A kind of task is one module of `executor/` with one function `(Task, Doing) -> body`. It raises
TaskFailedError with a code of bus/link/tasks.py; whatever it returns is redacted by who called it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol

from bus.link import Task, TaskPhase


class TaskFailedError(Exception):
    """The end of a task that was not done; `code` is for programs, the message for people."""

    def __init__(
        self, code: str, message: str, *, phase: TaskPhase = TaskPhase.FAILED, body: Any = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.phase = phase
        self.body = body


class Stream(Protocol):
    """Chunks of text to who asked, as fast as he takes them."""

    async def send(self, text: str, dropped: int = 0) -> None:
        """Waits for credit; raises LinkLostError where nobody listens any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Doing:
    """One task under way."""

    began: str
    repeated: bool
    """It was begun before and cut off."""
    cancelled: Callable[[], bool]
    """Somebody does not want it any more; only asked by those who cannot just be cut off."""
    progress: Callable[[str], Awaitable[None]]
    stream: Stream


Executor = Callable[[Task, Doing], Awaitable[Any]]
