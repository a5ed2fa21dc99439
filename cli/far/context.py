"""`gitops context`: the logins there are on this machine, and which of them counts."""

from __future__ import annotations

from typing import Annotated

import msgspec
import typer

from cli import say
from cli.columns import Columns
from cli.far import calling, contexts, show

app = calling.new_app()


@app.command(name="list", epilog="Exit codes: 0 fine, 2 the file cannot be read.")
def list_contexts(*, as_json: calling.JsonOption = False) -> None:
    """Every login; the current one is marked."""

    def work() -> say.Exit:
        known = contexts.read()
        rows = [
            {"name": name, "url": it.url, "who": it.who, "login": str(it.login)}
            for name, it in sorted(known.known.items())
        ]
        if as_json:
            for row in rows:
                say.line({**row, "current": row["name"] == known.current})
            return say.Exit.FINE
        head = ("Current", "Context", "Service", "Who", "Login")
        marks = ["*" if row["name"] == known.current else "" for row in rows]
        cells = [(mark, *row.values()) for mark, row in zip(marks, rows, strict=True)]
        nothing = "Not logged in anywhere. Log in: gitops login URL"
        show.table(Columns(head=head, kept=3), cells, nothing)
        return say.Exit.FINE

    calling.ends(work)


@app.command(epilog="Exit codes: 0 fine, 2 there is no such context.")
def use(name: Annotated[str, typer.Argument(help="As gitops context list names it.")]) -> None:
    """Let this login count from now on."""

    def work() -> say.Exit:
        known = contexts.read()
        known.chosen(name)
        contexts.write(msgspec.structs.replace(known, current=name))
        return say.Exit.FINE

    calling.ends(work)
