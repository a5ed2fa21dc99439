"""`gitops agent settings`: the settings in force, secrets masked."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from agent.configuration import EXIT_CODE, InvalidSettingsError, effective, load, unknown_variables
from agent.settings import Settings
from cli import output
from cli.command import new_app
from cli.remote import tables
from cli.remote.tables import Columns

app = new_app()


@app.command(epilog="Exit codes: 0 usable, 2 not; then every problem is told at once.")
def settings(
    *, as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False
) -> None:
    """Show every setting with its variable, its value and what it is for."""
    known = load_or_stop()
    for strange in unknown_variables(os.environ):
        output.complain(strange)
    if as_json:
        output.line({variable.name: text for variable, text in effective(known)})
        return
    rows = ((it.name, text, it.field.description or "") for it, text in effective(known))
    tables.table(Columns(head=("Variable", "Value", "Meaning"), kept=2, sentence=True), rows, "")


def load_or_stop() -> Settings:
    """Load the settings, or print everything that is wrong and end the process."""
    try:
        return load()
    except InvalidSettingsError as e:
        output.complain(str(e))
        raise typer.Exit(EXIT_CODE) from e
