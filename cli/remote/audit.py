"""`gitops audit list|export|verify`: the audit records, as a table or JSON, and their proof."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from cli import output
from cli.command import new_group
from cli.remote import answers, command_runner, tables
from cli.remote.formatting import day
from cli.remote.service_client import ServiceClient
from cli.remote.service_types import AuditRecord, AuditVerification
from cli.remote.tables import Columns
from cli.remote.tasks import MostOption

app = new_group()

_BLOCK = 1 << 16


@app.command(name="list", epilog=f"Exit codes: 0 fine, 2 wrong usage, {command_runner.REFUSALS}.")
def list_records(  # noqa: PLR0913  a command's options are its parameters
    actor: Annotated[str, typer.Option("--actor", help="Only of this person.")] = "",
    action: Annotated[str, typer.Option("--action", help="E.g. application.sync.")] = "",
    resource: Annotated[str, typer.Option("--resource", help="A part of its name.")] = "",
    since: Annotated[str, typer.Option("--since", help="How far back: 30m, 24h.")] = "",
    limit: MostOption = 100,
    context: command_runner.ContextOption = "",
    *,
    as_json: command_runner.JsonOption = False,
) -> None:
    """List the newest records first."""

    async def work(client: ServiceClient) -> output.Exit:
        query = {"actor": actor, "action": action, "resource": resource, "since": ago(since)}
        found = [it async for it in client.pages("/audit", query, limit)]
        if as_json:
            output.lines(found)
        else:
            _table([answers.read(it, AuditRecord) for it in found])
        return output.Exit.FINE

    command_runner.call(context, work)


@app.command(epilog=f"Exit codes: 0 fine, 2 wrong usage, {command_runner.REFUSALS}.")
def export(
    after: Annotated[
        int, typer.Option("--after", min=0, help="The last sequence one has already.")
    ] = 0,
    context: command_runner.ContextOption = "",
) -> None:
    """Print every record as a line of JSON, in the order of the chain."""

    async def work(client: ServiceClient) -> output.Exit:
        async with client.open("/audit/export", {"after": after}) as response:
            async for block in response.content.iter_chunked(_BLOCK):
                output.raw(block)
        return output.Exit.FINE

    command_runner.call(context, work)


@app.command(epilog=f"Exit codes: 0 the chain holds, 1 it is broken, {command_runner.REFUSALS}.")
def verify(
    context: command_runner.ContextOption = "", *, as_json: command_runner.JsonOption = False
) -> None:
    """Have the service check chain, signatures and anchors, and name the first break."""

    async def work(client: ServiceClient) -> output.Exit:
        plain = await client.get("/audit/verify")
        found = answers.read(plain, AuditVerification)
        if as_json:
            output.line(plain)
        elif found.ok:
            kept = f"{found.entries - found.trimmed} records, all signed for, none changed"
            anchors = f"{found.anchors} heads kept by agents match"
            trimmed = f"records 1 to {found.trimmed} removed by retention" * bool(found.trimmed)
            tables.line(
                tables.status("allowed").plain[:1],
                "; ".join(filter(None, (kept, anchors, trimmed))),
            )
        else:
            tables.line(
                tables.status("denied").plain[:1], f"broken at {found.broken_at}", found.reason
            )
        return output.Exit.FINE if found.ok else output.Exit.NO

    command_runner.call(context, work)


def ago(text: str) -> str:
    """The time a duration ago, in the service's format; empty for an empty duration."""
    if not text:
        return ""
    begin = datetime.now(UTC) - timedelta(seconds=command_runner.seconds("--since", text))
    return begin.isoformat()


def _table(found: list[AuditRecord]) -> None:
    rows = (
        (
            str(it.sequence),
            day(it.time),
            it.action,
            it.resource.removeprefix("application "),
            it.actor,
            tables.status(it.decision),
            it.outcome,
        )
        for it in found
    )
    head = ("Number", "Time", "Action", "Object", "Who", "Decision", "Outcome")
    tables.table(Columns(head=head, kept=5, sentence=True), rows, "No records match.")
