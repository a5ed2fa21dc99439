"""`gitops audit list|export|verify`: who did what, the book as JSON lines, and its proof."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from cli import say
from cli.columns import Columns
from cli.far import calling, shapes, show
from cli.far.client import Far
from cli.far.tasks import MostOption
from cli.far.text import day

app = calling.new_app()

_BLOCK = 1 << 16


@app.command(name="list", epilog=f"Exit codes: 0 fine, 2 wrong usage, {calling.REFUSALS}.")
def list_records(  # noqa: PLR0913  a command's options are its parameters
    actor: Annotated[str, typer.Option("--actor", help="Only of this person.")] = "",
    action: Annotated[str, typer.Option("--action", help="E.g. application.sync.")] = "",
    resource: Annotated[str, typer.Option("--resource", help="A part of its name.")] = "",
    since: Annotated[str, typer.Option("--since", help="How far back: 30m, 24h.")] = "",
    limit: MostOption = 100,
    context: calling.ContextOption = "",
    *,
    as_json: calling.JsonOption = False,
) -> None:
    """The newest records first."""

    async def work(far: Far) -> say.Exit:
        query = {"actor": actor, "action": action, "resource": resource, "since": ago(since)}
        found = [it async for it in far.pages("/audit", query, limit)]
        if as_json:
            say.lines(found)
        else:
            _table([shapes.read(it, shapes.AuditRecord) for it in found])
        return say.Exit.FINE

    calling.call(context, work)


@app.command(epilog=f"Exit codes: 0 fine, 2 wrong usage, {calling.REFUSALS}.")
def export(
    after: Annotated[
        int, typer.Option("--after", min=0, help="The last sequence one has already.")
    ] = 0,
    context: calling.ContextOption = "",
) -> None:
    """Every record as a line of JSON, in the order of the chain."""

    async def work(far: Far) -> say.Exit:
        async with far.open("/audit/export", {"after": after}) as response:
            async for block in response.content.iter_chunked(_BLOCK):
                say.raw(block)
        return say.Exit.FINE

    calling.call(context, work)


@app.command(epilog=f"Exit codes: 0 the chain holds, 1 it is broken, {calling.REFUSALS}.")
def verify(context: calling.ContextOption = "", *, as_json: calling.JsonOption = False) -> None:
    """Have the service check chain, signatures and anchors, and name the first break."""

    async def work(far: Far) -> say.Exit:
        plain = await far.get("/audit/verify")
        found = shapes.read(plain, shapes.Verified)
        if as_json:
            say.line(plain)
        elif found.ok:
            kept = f"{found.entries - found.trimmed} records, all signed for, none changed"
            anchors = f"{found.anchors} heads that agents keep fit"
            trimmed = f"records 1 to {found.trimmed} removed by retention" * bool(found.trimmed)
            show.line(show.status("allowed").plain[:1], kept, anchors, trimmed)
        else:
            show.line(show.status("denied").plain[:1], f"broken at {found.broken_at}", found.reason)
        return say.Exit.FINE if found.ok else say.Exit.NO

    calling.call(context, work)


def ago(text: str) -> str:
    """The moment so long ago, as the service reads it; empty for empty."""
    if not text:
        return ""
    begin = datetime.now(UTC) - timedelta(seconds=calling.seconds("--since", text))
    return begin.isoformat()


def _table(found: list[shapes.AuditRecord]) -> None:
    rows = (
        (
            str(it.sequence),
            day(it.time),
            it.actor,
            it.action,
            it.resource,
            show.status(it.decision),
            it.outcome,
        )
        for it in found
    )
    head = ("Number", "Time", "Who", "Action", "Object", "Decision", "Outcome")
    show.table(Columns(head=head, kept=5, sentence=True), rows, "No records match.")
