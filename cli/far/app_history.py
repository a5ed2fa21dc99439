"""`gitops app history`: what was deployed, the newest first."""

from __future__ import annotations

from collections.abc import Sequence

from cli import say
from cli.columns import Columns
from cli.far import calling, find, shapes, show
from cli.far.client import Far
from cli.far.text import day, short

app = calling.new_app()


@app.command(epilog=f"Exit codes: 0 fine, 2 there is no such application, {calling.REFUSALS}.")
def history(
    application: calling.AppArgument,
    context: calling.ContextOption = "",
    *,
    as_json: calling.JsonOption = False,
) -> None:
    """What was deployed, the newest first; the id is what rollback takes."""

    async def work(far: Far) -> say.Exit:
        found = await find.application(far, application)
        path = f"{find.path('applications', found.id)}/history"
        items = (await far.get(path))["items"]
        if as_json:
            say.lines(items)
        else:
            _history([shapes.read(it, shapes.Deployment) for it in items])
        return say.Exit.FINE

    calling.call(context, work)


def _history(items: Sequence[shapes.Deployment]) -> None:
    rows = (
        (
            str(it.id),
            day(it.deployed_at),
            short(it.revision),
            it.initiated_by,
            it.author,
            it.message,
        )
        for it in items
    )
    head = ("Id", "Deployed", "Revision", "By", "Author", "Message")
    columns = Columns(head=head, kept=3, sentence=True)
    show.table(columns, rows, "Nothing has been deployed yet.")
