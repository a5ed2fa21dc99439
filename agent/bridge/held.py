"""A task that was taken and has not ended: what the desk and those who do it know about it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from agent.bridge.streams import TaskStream
from bus.link import Task, TaskResult


@dataclass(slots=True)
class Held:
    task: Task
    stream: TaskStream
    work: asyncio.Task[TaskResult] | None = None
    cancelled: bool = False
    message: str = ""
    """How far it is, in words."""
