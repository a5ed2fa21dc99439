"""Orders to agents: sent once however often, told as tasks, waited for where that is wanted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Protocol

import typer

from cli import say
from cli.far import calling, shapes, show
from cli.far.asking import ended
from cli.far.client import Far

EXITS = (
    "Exit codes: 0 ordered, or done (--wait), 1 it failed, 2 wrong usage, 3 refused, 4 not allowed,"
    " 5 not done in time."
)
WaitOption = Annotated[bool, typer.Option("--wait", help="Until the tasks have ended.")]
_ANY_VERSION = {"If-Match": "*"}


class Told(Protocol):
    """How the end is told: the options that every order has."""

    @property
    def wait(self) -> bool: ...
    @property
    def timeout(self) -> str: ...
    @property
    def as_json(self) -> bool: ...


async def ordered(far: Far, path: str, body: object, method: str = "POST") -> dict[str, Any]:
    """The task. Whoever writes last wins: what is written stands whole in the caller's file."""
    headers = {} if method == "POST" else _ANY_VERSION
    accepted = await far.order(path, body, method=method, headers=headers)
    task: dict[str, Any] = accepted["task"]
    return task


async def told(far: Far, tasks: Sequence[dict[str, Any]], given: Told) -> say.Exit:
    """One line per task; with `wait` when all have ended."""
    if given.wait:
        tasks = await ended(far, tasks, calling.seconds("--timeout", given.timeout))
    for plain in tasks:
        if given.as_json:
            say.line(plain)
        else:
            _line(shapes.read(plain, shapes.Task))
    return say.Exit.NO if any(_failed(it) for it in tasks) else say.Exit.FINE


def _line(task: shapes.Task) -> None:
    where = f"task {task.id}" if task.ended else f"see: gitops task get {task.id}"
    show.line(task.kind, task.subject, show.status(task.phase), task.message, where)


def _failed(plain: Mapping[str, Any]) -> bool:
    task = shapes.read(plain, shapes.Task)
    return task.ended and not task.succeeded
