"""`gitops context`: the logins of this machine, and which of them is current."""

from __future__ import annotations

from typing import Annotated

import msgspec
import typer

from cli import output
from cli.command import new_group
from cli.remote import command_runner, contexts, tables
from cli.remote.tables import Columns

app = new_group()


@app.command(name="list", epilog="Exit codes: 0 fine, 2 the file cannot be read.")
def list_contexts(*, as_json: command_runner.JsonOption = False) -> None:
    """List the logins; the current one is marked."""

    def work() -> output.Exit:
        known = contexts.read()
        rows = [
            {"name": name, "url": it.url, "who": it.who, "login": str(it.login)}
            for name, it in sorted(known.known.items())
        ]
        if as_json:
            for row in rows:
                output.line({**row, "current": row["name"] == known.current})
            return output.Exit.FINE
        head = ("Current", "Context", "Service", "Who", "Login")
        marks = ["*" if row["name"] == known.current else "" for row in rows]
        cells = [(mark, *row.values()) for mark, row in zip(marks, rows, strict=True)]
        nothing = "Not logged in anywhere. Log in: gitops login URL"
        tables.table(Columns(head=head, kept=3), cells, nothing)
        return output.Exit.FINE

    command_runner.ends(work)


@app.command(epilog="Exit codes: 0 fine, 2 there is no such context.")
def use(
    name: Annotated[
        str, typer.Argument(metavar="CONTEXT", help="As gitops context list names it.")
    ],
) -> None:
    """Use this login from now on."""

    def work() -> output.Exit:
        known = contexts.read()
        known.chosen(name)
        contexts.write(msgspec.structs.replace(known, current=name))
        return output.Exit.FINE

    command_runner.ends(work)
