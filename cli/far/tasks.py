"""`gitops task get|list|cancel`: what was asked of agents, and what became of it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from bus.link import TaskKind, TaskPhase
from cli import say
from cli.columns import Columns
from cli.far import calling, find, shapes, show
from cli.far.client import Far
from cli.far.filters import check_words
from cli.far.text import age

app = calling.new_app()

TaskArgument = Annotated[str, typer.Argument(metavar="TASK", help="Its id.")]
MostOption = Annotated[int, typer.Option("--limit", min=1, max=10_000, help="At most so many.")]


@app.command(name="list", epilog=f"Exit codes: 0 fine, 2 wrong usage, {calling.REFUSALS}.")
def list_tasks(
    phase: Annotated[
        str, typer.Option("--phase", help="Only these phases, e.g. queued,running,failed.")
    ] = "",
    kind: Annotated[str, typer.Option("--kind", help="Only these kinds, e.g. sync,diff.")] = "",
    limit: MostOption = 100,
    context: calling.ContextOption = "",
    *,
    reads: Annotated[bool, typer.Option("--all", help="Also what only reads: tree, diff.")] = False,
    as_json: calling.JsonOption = False,
) -> None:
    """List the newest tasks; those that failed come first among them."""
    check_words("--phase", phase, [str(it) for it in TaskPhase])
    check_words("--kind", kind, [str(it) for it in TaskKind])
    writes = ",".join(it for it in TaskKind if it.writes)

    async def work(far: Far) -> say.Exit:
        query = {"phase": phase, "kind": kind or ("" if reads else writes)}
        found = [it async for it in far.pages("/tasks", query, limit)]
        if as_json:
            say.lines(found)
            return say.Exit.FINE
        tasks = [shapes.read(it, shapes.Task) for it in found]
        nothing = "No tasks match." if phase or kind else "No tasks yet."
        _table(sorted(tasks, key=lambda it: show.badness(it.phase)), nothing)
        return say.Exit.FINE

    calling.call(context, work)


@app.command(epilog=f"Exit codes: 0 fine, 1 it failed, 2 there is none, {calling.REFUSALS}.")
def get(
    task: TaskArgument,
    context: calling.ContextOption = "",
    *,
    as_json: calling.JsonOption = False,
) -> None:
    """One task with its result."""

    async def work(far: Far) -> say.Exit:
        return _one(await far.get(find.path("tasks", task)), as_json=as_json)

    calling.call(context, work)


@app.command(epilog=f"Exit codes: 0 told, 2 there is none, {calling.REFUSALS}.")
def cancel(
    task: TaskArgument,
    context: calling.ContextOption = "",
    *,
    as_json: calling.JsonOption = False,
) -> None:
    """End it: at once where it still waits, else the agent is asked to."""

    async def work(far: Far) -> say.Exit:
        _one(await far.order(f"{find.path('tasks', task)}/cancel"), as_json=as_json)
        return say.Exit.FINE

    calling.call(context, work)


def _one(plain: dict[str, Any], *, as_json: bool) -> say.Exit:
    task = shapes.read(plain, shapes.Task)
    if as_json:
        say.line(plain)
    else:
        show.line(
            task.kind, task.subject, show.status(task.phase), task.message, f"by {task.actor}"
        )
    return say.Exit.NO if task.ended and not task.succeeded else say.Exit.FINE


def _table(tasks: list[shapes.Task], nothing: str) -> None:
    now = datetime.now(UTC)
    rows = (
        (
            it.id,
            it.kind,
            show.status(it.phase),
            it.subject,
            age(it.created_at, now),
            it.actor,
            it.message,
        )
        for it in tasks
    )
    head = ("Task", "Kind", "Phase", "Object", "Age", "By", "Message")
    show.table(Columns(head=head, kept=3, sentence=True), rows, nothing)
