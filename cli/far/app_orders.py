"""`gitops app sync|refresh|rollback|terminate`: commands to the agent, by way of a task.

Without `--wait` the answer is the task; with it the task's end, which the exit code tells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from cli import say
from cli.far import calling, find, shapes, show
from cli.far.asking import ended
from cli.far.client import Far
from cli.far.errors import FarError

app = calling.new_app()

_EXITS = (
    "Exit codes: 0 ordered, or done (--wait), 1 it failed, 2 wrong usage, 3 refused, 4 not allowed,"
    " 5 not done in time."
)
_OBJECT_PARTS = 4

PruneOption = Annotated[bool, typer.Option("--prune", help="Delete what Git no longer has.")]
WaitOption = Annotated[bool, typer.Option("--wait", help="Until the task has ended.")]


@app.command(epilog=_EXITS)
def sync(  # noqa: PLR0913  a command's options are its parameters
    application: calling.AppArgument,
    context: calling.ContextOption = "",
    revision: Annotated[
        str, typer.Option("--revision", help="Instead of the target revision.")
    ] = "",
    resource: Annotated[
        list[str] | None,
        typer.Option("--resource", metavar="GROUP/KIND/NAMESPACE/NAME", help="Only this object."),
    ] = None,
    timeout: calling.TimeoutOption = "10m",
    *,
    prune: PruneOption = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Change nothing.")] = False,
    wait: WaitOption = False,
    as_json: calling.JsonOption = False,
) -> None:
    """Make live equal desired."""

    async def work(far: Far) -> say.Exit:
        body: dict[str, Any] = {"revision": revision, "prune": prune, "dryRun": dry_run}
        body["resources"] = [_object(it) for it in resource or ()]
        order = await _ordered(far, application, "sync", body)
        return await _told(far, order, timeout if wait else "", as_json=as_json)

    calling.call(context, work)


@app.command(epilog=_EXITS)
def refresh(
    application: calling.AppArgument,
    context: calling.ContextOption = "",
    timeout: calling.TimeoutOption = "5m",
    *,
    hard: Annotated[bool, typer.Option("--hard", help="Forget what is cached.")] = False,
    wait: WaitOption = False,
    as_json: calling.JsonOption = False,
) -> None:
    """Look at the source again."""

    async def work(far: Far) -> say.Exit:
        order = await _ordered(far, application, "refresh", {"hard": hard})
        return await _told(far, order, timeout if wait else "", as_json=as_json)

    calling.call(context, work)


@app.command(epilog=_EXITS)
def rollback(  # noqa: PLR0913  a command's options are its parameters
    application: calling.AppArgument,
    history_id: Annotated[int, typer.Argument(metavar="ID", min=0, help="Of the history.")],
    context: calling.ContextOption = "",
    timeout: calling.TimeoutOption = "10m",
    *,
    prune: PruneOption = False,
    wait: WaitOption = False,
    as_json: calling.JsonOption = False,
) -> None:
    """Sync to what was deployed before; see gitops app history."""

    async def work(far: Far) -> say.Exit:
        body = {"historyId": history_id, "prune": prune}
        order = await _ordered(far, application, "rollback", body)
        return await _told(far, order, timeout if wait else "", as_json=as_json)

    calling.call(context, work)


@app.command(epilog=_EXITS)
def terminate(
    application: calling.AppArgument,
    context: calling.ContextOption = "",
    timeout: calling.TimeoutOption = "5m",
    *,
    wait: WaitOption = False,
    as_json: calling.JsonOption = False,
) -> None:
    """End the operation that runs."""

    async def work(far: Far) -> say.Exit:
        order = await _ordered(far, application, "terminate", {})
        return await _told(far, order, timeout if wait else "", as_json=as_json)

    calling.call(context, work)


async def _ordered(far: Far, reference: str, verb: str, body: Mapping[str, Any]) -> dict[str, Any]:
    found = await find.application(far, reference)
    accepted = await far.order(f"{find.path('applications', found.id)}/{verb}", body)
    task: dict[str, Any] = accepted["task"]
    return task


async def _told(far: Far, plain: dict[str, Any], within: str, *, as_json: bool) -> say.Exit:
    """`within`: empty where nothing is waited for."""
    task = shapes.read(plain, shapes.Task)
    if within:
        task = await ended(far, task, calling.seconds("--timeout", within))
        plain = await far.get(find.path("tasks", task.id))
    if as_json:
        say.line(plain)
    else:
        show.line(task.kind, task.subject, show.status(task.phase), task.message, f"task {task.id}")
    return say.Exit.NO if task.ended and not task.succeeded else say.Exit.FINE


def _object(text: str) -> dict[str, str]:
    """The group of core kinds, and the namespace of cluster-wide ones, are empty."""
    parts: Sequence[str] = text.split("/")
    if len(parts) != _OBJECT_PARTS or not parts[1] or not parts[3]:
        wanted = "GROUP/KIND/NAMESPACE/NAME, e.g. apps/Deployment/shop/web or /ConfigMap/shop/site"
        raise FarError(f"--resource: expected {wanted}, found {text!r}", say.Exit.BAD_INPUT)
    return dict(zip(("group", "kind", "namespace", "name"), parts, strict=True))
