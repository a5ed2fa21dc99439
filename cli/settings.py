"""`gitops agent settings`: the settings in force, secrets masked."""

from __future__ import annotations

import os
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from agent.configuration import EXIT_CODE, InvalidSettingsError, effective, load, unknown_variables
from agent.settings import Settings
from cli import say
from cli.far.show import console

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command(epilog="Exit codes: 0 usable, 2 not; then every problem is told at once.")
def settings(
    *, as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False
) -> None:
    """Every setting as its variable, its value and what it is for."""
    known = load_or_stop()
    for strange in unknown_variables(os.environ):
        say.complain(strange)
    if as_json:
        say.line({variable.name: text for variable, text in effective(known)})
        return
    table = Table("Variable", "Value", "Meaning", box=None, pad_edge=False)
    for variable, text in effective(known):
        table.add_row(variable.name, Text(text), Text(variable.field.description or ""))
    console().print(table)


def load_or_stop() -> Settings:
    """The settings, or an end of the process that tells everything that is wrong."""
    try:
        return load()
    except InvalidSettingsError as e:
        say.complain(str(e))
        raise typer.Exit(EXIT_CODE) from e
