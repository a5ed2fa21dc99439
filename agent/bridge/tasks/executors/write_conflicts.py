"""A read and the write that follows from it, repeated where somebody else wrote in between.

The agent itself writes the status of Applications all the time, so a conflict says nothing about
what the requester has seen: that is for the preconditions, which each repetition checks again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from agent.bridge.tasks.task_context import TaskFailedError
from agent.kube.errors import ConflictError

_TRIES = 5

T = TypeVar("T")


async def repeated_on_conflict(subject: str, read_and_write: Callable[[], Awaitable[T]]) -> T:
    """Return what the first write without a conflict returned.

    Raises TaskFailedError `conflict` after five conflicts; `subject` is the object's kind and name.
    """
    for _ in range(_TRIES):
        try:
            return await read_and_write()
        except ConflictError:
            continue
    text = f"{subject} was changed by others {_TRIES} times during the write: try again"
    raise TaskFailedError("conflict", text)
