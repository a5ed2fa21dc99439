"""Asking an agent by way of the service: reads that may take a while, and tasks until they end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from cli.far import find, shapes
from cli.far.client import Far
from cli.far.errors import FarError
from cli.say import Exit

_FIRST, _LONGEST = 0.2, 2.0
"""Seconds between two looks: short at first, for what is quick."""


async def asked(far: Far, path: str, seconds: float) -> Any:
    """The answer of the agent, also where the service gave only the task for now."""
    body = await far.get(path)
    if not isinstance(body, dict) or set(body) != {"task"}:
        return body
    task = await ended(far, shapes.read(body["task"], shapes.Task), seconds)
    if not task.succeeded:
        raise FarError(f"the agent could not: {task.message or task.phase}", Exit.NO)
    return task.result


async def ended(far: Far, task: shapes.Task, seconds: float) -> shapes.Task:
    """The task at its end; raises FarError with code 5 where the time is over before."""
    async for _ in looks(seconds):
        task = shapes.read(await far.get(find.path("tasks", task.id)), shapes.Task)
        if task.ended:
            return task
    remedy = f"It goes on: gitops task get {task.id}"
    raise FarError(f"the task is still {task.phase} after {seconds:g} s. {remedy}", Exit.TIMEOUT)


async def looks(seconds: float) -> AsyncIterator[None]:
    """Moments to look again, at once and a last time when the seconds are over."""
    loop = asyncio.get_running_loop()
    until, pause = loop.time() + seconds, _FIRST
    while True:
        yield
        left = until - loop.time()
        if left <= 0:
            return
        await asyncio.sleep(min(pause, left))
        pause = min(pause * 1.5, _LONGEST)
