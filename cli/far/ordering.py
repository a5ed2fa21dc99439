"""Orders to agents: sent once however often, told as tasks, waited for where that is wanted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a task changes, in words for its end: `application argocd/shop created`."""

    noun: str
    participle: str


async def ordered(far: Far, path: str, body: object, method: str = "POST") -> dict[str, Any]:
    """The task. Whoever writes last wins: what is written stands whole in the caller's file."""
    headers = {} if method == "POST" else _ANY_VERSION
    accepted = await far.order(path, body, method=method, headers=headers)
    task: dict[str, Any] = accepted["task"]
    return task


async def told(
    far: Far, tasks: Sequence[dict[str, Any]], given: Told, change: Change | None = None
) -> say.Exit:
    """One line per task; with `wait` when all have ended. `change`: where one thing is written."""
    if given.wait:
        tasks = await ended(far, tasks, calling.seconds("--timeout", given.timeout))
    for plain in tasks:
        if given.as_json:
            say.line(plain)
        else:
            _line(shapes.read(plain, shapes.Task), change)
    return say.Exit.NO if any(_failed(it) for it in tasks) else say.Exit.FINE


def _line(task: shapes.Task, change: Change | None) -> None:
    where = f"task {task.id}" if task.ended else f"see: gitops task get {task.id}"
    state = show.status(task.phase)
    if change is None:
        show.line(task.kind, task.subject, state, task.message, where)
    elif task.succeeded:
        show.line(change.noun, task.subject, change.participle)
    else:
        verdict = f"was not {change.participle}:" if task.ended else f"will be {change.participle}:"
        show.line(change.noun, task.subject, verdict, state, task.message, where)


def _failed(plain: Mapping[str, Any]) -> bool:
    task = shapes.read(plain, shapes.Task)
    return task.ended and not task.succeeded
