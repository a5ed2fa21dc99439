"""`gitops service rotate-signing-key`: a new key signs the sessions of agents."""

from __future__ import annotations

import asyncio
import sys
from typing import Annotated

import typer

from agent.configuration import EXIT_CODE
from cli import say
from cli.service import load_settings
from service.app import now
from service.rotation import rotate_signing_key

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command(epilog="Exit codes: 0 done, 2 the settings are wrong.")
def rotate(
    *,
    at_once: Annotated[
        bool, typer.Option("--at-once", help="The old key was stolen: refuse what it signed now.")
    ] = False,
) -> None:
    """Make a key; the old one is accepted until the last session that it signed is over.

    Replicas take it up by themselves and no agent notices. With --at-once agents that connect
    with an older session are refused, and open a new one by themselves.
    """
    settings = load_settings()
    if settings is None:
        raise typer.Exit(EXIT_CODE)
    key = asyncio.run(rotate_signing_key(settings, now(), at_once=at_once))
    accepted = "no longer" if at_once else f"for {settings.session_seconds:.0f} s more"
    sys.stdout.write(f"new signing key {key}; older ones are accepted {accepted}\n")
    raise typer.Exit(say.Exit.FINE)
