"""`gitops drift list`: the drift ledger: what differed, since when, by whom, and how it ended."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from cli import say
from cli.columns import Columns
from cli.far import calling, find, shapes, show
from cli.far.audit import ago
from cli.far.client import Far
from cli.far.tasks import MostOption
from cli.far.text import age, lasting

app = calling.new_app()


@app.command(name="list", epilog=f"Exit codes: 0 fine, 2 wrong usage, {calling.REFUSALS}.")
def list_drifts(
    application: Annotated[str, typer.Option("--app", help="Only of this application.")] = "",
    since: Annotated[str, typer.Option("--since", help="That began since: 30m, 24h.")] = "",
    limit: MostOption = 100,
    context: calling.ContextOption = "",
    *,
    lasts: Annotated[bool, typer.Option("--open", help="Only those that still last.")] = False,
    as_json: calling.JsonOption = False,
) -> None:
    """Drifts; those that still last come first."""

    async def work(far: Far) -> say.Exit:
        id_ = (await find.application(far, application)).id if application else ""
        query = {"open": "true" if lasts else None, "since": ago(since), "application": id_}
        found = [it async for it in far.pages("/drifts", query, limit)]
        if as_json:
            say.lines(found)
        else:
            nothing = "No drifts match." if id_ or since or lasts else "No drift was seen yet."
            _table([shapes.read(it, shapes.Drift) for it in found], nothing)
        return say.Exit.FINE

    calling.call(context, work)


def _table(found: list[shapes.Drift], nothing: str) -> None:
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
            ", ".join(str(each.get("path", "")) for each in it.fields),
        )
        for it in sorted(found, key=lambda it: it.ended_at is not None)
    )
    head = ("Application", "Object", "Began", "Lasted", "End", "Agent", "Who", "Fields")
    show.table(Columns(head=head, kept=2, sentence=True), rows, nothing)
