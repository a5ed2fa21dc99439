"""`gitops service new-key|rotate-key|sign-audit|bind-agents|grant-role`: what can be proven.

The keys stand in a file outside the database, and the tables may belong to another role than the
one that the service uses: so neither a copy of the database nor the service's own login is enough
to write history anew.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from agent.configuration import EXIT_CODE
from cli import output
from cli.command import new_group
from cli.service import load_settings
from service.key_management.rotation import bind_agents, rotate, sign_audits, unbound_agents
from service.keys import key_file
from service.keys.key_file import KeyFileError
from service.keys.root_key import SealedValueError
from service.lifecycle import now
from service.settings import ServiceSettings, owner_url
from service.store.migrate import grant

app = new_group()

_CODES = "Exit codes: 0 done, 2 the settings, or the key file, are wrong."
T = TypeVar("T")


@app.command(name="new-key", epilog="Exit codes: 0 made, 2 there is a file already.")
def new_key(
    file: Annotated[Path, typer.Argument(help="Where to; never inside the database's backups.")],
) -> None:
    """Create a key file with one new key, for GITOPS_SERVICE_KEY_FILE or a Secret."""
    try:
        made = key_file.generate(file)
    except OSError as error:
        output.stop(f"{file}: {error.strerror}")
    if not made:
        output.stop(f"{file} is there already: `gitops service rotate-key` adds a key to it")
    sys.stdout.write(f"key {key_file.read_ring(file).current.id} made in {file}: keep a copy\n")


@app.command(name="rotate-key", epilog=_CODES)
def rotate_key(
    *,
    encrypt_only: Annotated[
        bool,
        typer.Option("--encrypt-only", help="The file has its new key already, as its first line."),
    ] = False,
    retire: Annotated[
        bool,
        typer.Option(
            "--retire", help="Accept older keys no longer; their public halves stay in the file."
        ),
    ] = False,
) -> None:
    """Add a key to the file, sign with it from now on, and encrypt everything with it.

    Replicas read the file again by themselves. Where the file cannot be written, as in a Secret,
    put the new line first and call this with --encrypt-only. Use --retire at once where the old key
    was stolen, otherwise after every replica has seen the new one.
    """
    settings = _settings()
    done = _run(rotate(settings, now(), add=not encrypt_only, retire=retire))
    sys.stdout.write(f"key {done.key_id} is in use; rows encrypted with it: {done.rows}\n")


@app.command(name="sign-audit", epilog=_CODES)
def sign_audit() -> None:
    """Vouch for audits whose newest record is not signed, as after an upgrade: look at them first.

    A record says that this was done; everything before it counts as true from then on.
    """
    signed = _run(sign_audits(_settings(), now()))
    sys.stdout.write(f"signed: {', '.join(signed) or 'nothing, all are signed to their end'}\n")


@app.command(name="bind-agents", epilog=_CODES)
def bind_keys_of_agents(
    names: Annotated[
        list[str] | None, typer.Argument(help="Agents; without any, they are only listed.")
    ] = None,
    *,
    every: Annotated[bool, typer.Option("--all", help="All agents that are listed.")] = False,
) -> None:
    """Vouch for keys of agents that the service did not write, as after an upgrade.

    Such keys open no link: an earlier version wrote them, or somebody with the database's password.
    A record in the audit names each agent.
    """
    settings = _settings()
    if not names and not every:
        found = ", ".join(_run(unbound_agents(settings)))
        listed = f"{found}\nvouch for them by name, or with --all" if found else "none"
        sys.stdout.write(f"agents with keys that the service did not write: {listed}\n")
        return
    done = _run(bind_agents(settings, now(), None if every else names))
    sys.stdout.write(f"bound: {', '.join(done) or 'nothing'}\n")


@app.command(name="grant-role", epilog=_CODES)
def grant_role(
    role: Annotated[str, typer.Argument(help="A role of PostgreSQL that owns no table.")],
) -> None:
    """Give a database role what the service needs, and of the audit reading and adding only.

    Runs as the owner (GITOPS_SERVICE_OWNER_DATABASE_URL); repeat it after each migration.
    """
    settings = _settings()
    _run(grant(owner_url(settings), role))
    sys.stdout.write(f"{role} may run the service; of the audit it may read and add\n")


def _settings() -> ServiceSettings:
    settings = load_settings()
    if settings is None:
        raise typer.Exit(EXIT_CODE)
    return settings


def _run(work: Coroutine[Any, Any, T]) -> T:
    try:
        return asyncio.run(work)
    except (KeyFileError, SealedValueError) as error:
        output.stop(str(error))
