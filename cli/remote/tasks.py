"""`gitops task get|list|cancel`: tasks of agents, with their results."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from bus.link import TaskKind, TaskPhase
from cli import output
from cli.command import new_group
from cli.remote import answers, command_runner, find, tables
from cli.remote.formatting import age
from cli.remote.service_client import ServiceClient
from cli.remote.service_types import TaskSummary
from cli.remote.tables import Columns

app = new_group()

TaskArgument = Annotated[str, typer.Argument(metavar="TASK", help="Its id.")]
MostOption = Annotated[int, typer.Option("--limit", min=1, max=10_000, help="At most so many.")]


@app.command(name="list", epilog=f"Exit codes: 0 fine, 2 wrong usage, {command_runner.REFUSALS}.")
def list_tasks(
    phase: Annotated[
        str, typer.Option("--phase", help="Only these phases, e.g. queued,running,failed.")
    ] = "",
    kind: Annotated[str, typer.Option("--kind", help="Only these kinds, e.g. sync,diff.")] = "",
    limit: MostOption = 100,
    context: command_runner.ContextOption = "",
    *,
    reads: Annotated[bool, typer.Option("--all", help="Also what only reads: tree, diff.")] = False,
    as_json: command_runner.JsonOption = False,
) -> None:
    """List the newest tasks; those that failed come first among them."""
    check_words("--phase", phase, [str(it) for it in TaskPhase])
    check_words("--kind", kind, [str(it) for it in TaskKind])
    writes = ",".join(it for it in TaskKind if it.writes)

    async def work(client: ServiceClient) -> output.Exit:
        query = {"phase": phase, "kind": kind or ("" if reads else writes)}
        found = [it async for it in client.pages("/tasks", query, limit)]
        if as_json:
            output.lines(found)
            return output.Exit.FINE
        tasks = [answers.read(it, TaskSummary) for it in found]
        nothing = "No tasks match." if phase or kind else "No tasks yet."
        _table(sorted(tasks, key=lambda it: tables.badness(it.phase)), nothing)
        return output.Exit.FINE

    command_runner.call(context, work)


@app.command(epilog=f"Exit codes: 0 fine, 1 it failed, 2 there is none, {command_runner.REFUSALS}.")
def get(
    task: TaskArgument,
    context: command_runner.ContextOption = "",
    *,
    as_json: command_runner.JsonOption = False,
) -> None:
    """Show one task with its result."""

    async def work(client: ServiceClient) -> output.Exit:
        return _one(await client.get(find.path("tasks", task)), as_json=as_json)

    command_runner.call(context, work)


@app.command(epilog=f"Exit codes: 0 told, 2 there is none, {command_runner.REFUSALS}.")
def cancel(
    task: TaskArgument,
    context: command_runner.ContextOption = "",
    *,
    as_json: command_runner.JsonOption = False,
) -> None:
    """Cancel a task: at once if it still waits, else the agent is asked to end it."""

    async def work(client: ServiceClient) -> output.Exit:
        _one(await client.order(f"{find.path('tasks', task)}/cancel"), as_json=as_json)
        return output.Exit.FINE

    command_runner.call(context, work)


def _one(plain: dict[str, Any], *, as_json: bool) -> output.Exit:
    task = answers.read(plain, TaskSummary)
    if as_json:
        output.line(plain)
    else:
        tables.line(
            task.kind, task.subject, tables.status(task.phase), task.message, f"by {task.actor}"
        )
    return output.Exit.NO if answers.has_failed(task) else output.Exit.FINE


def _table(tasks: list[TaskSummary], nothing: str) -> None:
    now = datetime.now(UTC)
    rows = (
        (
            it.id,
            it.kind,
            tables.status(it.phase),
            it.subject,
            age(it.created_at, now),
            it.actor,
            it.message,
        )
        for it in tasks
    )
    head = ("Task", "Kind", "Phase", "Object", "Age", "By", "Message")
    tables.table(Columns(head=head, kept=3, sentence=True), rows, nothing)


def check_words(option: str, text: str, known: Sequence[str]) -> None:
    """Refuse a comma-separated word of `text` that is not known."""
    for word in filter(None, text.split(",")):
        if word not in known:
            similar = difflib.get_close_matches(word, known, n=1)
            hint = f"; did you mean {similar[0]}?" if similar else ""
            output.stop(f"{option}: expected one of {', '.join(known)}, found {word!r}{hint}")
