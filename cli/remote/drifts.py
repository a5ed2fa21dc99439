"""`gitops drift list`: the drift ledger with objects, fields, actors, begin and end."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from cli import output
from cli.command import new_group
from cli.remote import answers, command_runner, find, tables
from cli.remote.audit import ago
from cli.remote.formatting import age, lasting
from cli.remote.service_client import ServiceClient
from cli.remote.service_types import DriftEntry
from cli.remote.tables import Columns
from cli.remote.tasks import MostOption

app = new_group()


@app.command(name="list", epilog=f"Exit codes: 0 fine, 2 wrong usage, {command_runner.REFUSALS}.")
def list_drifts(
    application: Annotated[str, typer.Option("--app", help="Only of this application.")] = "",
    since: Annotated[str, typer.Option("--since", help="That began since: 30m, 24h.")] = "",
    limit: MostOption = 100,
    context: command_runner.ContextOption = "",
    *,
    lasts: Annotated[bool, typer.Option("--open", help="Only those that still last.")] = False,
    as_json: command_runner.JsonOption = False,
) -> None:
    """List drifts; those that still last come first."""

    async def work(client: ServiceClient) -> output.Exit:
        id_ = (await find.application(client, application)).id if application else ""
        query = {"open": "true" if lasts else None, "since": ago(since), "application": id_}
        found = [it async for it in client.pages("/drifts", query, limit)]
        if as_json:
            output.lines(found)
        else:
            nothing = "No drifts match." if id_ or since or lasts else "No drift was seen yet."
            _table([answers.read(it, DriftEntry) for it in found], nothing)
        return output.Exit.FINE

    command_runner.call(context, work)


def _table(found: list[DriftEntry], nothing: str) -> None:
    now = datetime.now(UTC)
    rows = (
        (
            it.subject,
            it.object,
            age(it.began_at, now),
            lasting(it.seconds),
            (it.ended_how or "ended") if it.ended_at else "open",
            it.agent_name,
            it.actor,
            ", ".join(each.path for each in it.fields),
        )
        for it in sorted(found, key=lambda it: it.ended_at is not None)
    )
    head = ("Application", "Object", "Began", "Lasted", "End", "Agent", "Who", "Fields")
    tables.table(Columns(head=head, kept=2, sentence=True), rows, nothing)
