"""`gitops service grant-admin|reset-password`: give the operator of a service access again.

They work on the database, with the settings that the service runs with, so they need no login. A
password is generated and shown once, or read from standard input: never an argument, which other
users and the shell's history would see.
"""

from __future__ import annotations

import asyncio
import secrets
import sys
from collections.abc import Coroutine
from typing import Annotated, Any

import typer

from agent.configuration import EXIT_CODE
from cli import output
from cli.command import new_group
from cli.service import load_settings
from service.access_recovery import UnknownUserError, grant_administrator, reset_password
from service.auth.passwords import LONGEST, SHORTEST
from service.keys.key_file import KeyFileError
from service.lifecycle import now
from service.settings import ServiceSettings

app = new_group()

Name = Annotated[str, typer.Argument(metavar="NAME", help="The user's name, as at the login.")]
_EPILOG = "Exit codes: 0 done, 1 no such user, 2 wrong usage, settings or password."


@app.command("grant-admin", epilog=_EPILOG)
def grant_admin(name: Name) -> None:
    """Make a user administrator of the whole account; a disabled user is enabled.

    The user's password stays as it is: see reset-password.
    """
    settings = _settings()
    _done(grant_administrator(settings, name, now()))
    output.text(f"{name} is administrator of account {settings.account}")


@app.command("reset-password", epilog=_EPILOG)
def reset(
    name: Name,
    *,
    stdin: Annotated[
        bool, typer.Option("--stdin", help="Read the new password from standard input.")
    ] = False,
) -> None:
    """Set a user's password; the user's sessions and API tokens end.

    Without --stdin a password is generated and shown once: change it after logging in.
    """
    settings = _settings()
    password = _read() if stdin else secrets.token_urlsafe(18)
    _done(reset_password(settings, name, password, now()))
    output.text(f"the password of {name} is set; sessions and API tokens of {name} have ended")
    if not stdin:
        output.text(f"password (shown once): {password}")


def _settings() -> ServiceSettings:
    settings = load_settings()
    if settings is None:
        raise typer.Exit(EXIT_CODE)
    return settings


def _read() -> str:
    password = sys.stdin.readline(LONGEST + 2).rstrip("\r\n")
    if not SHORTEST <= len(password) <= LONGEST:
        output.complain(f"expected a password of {SHORTEST} to {LONGEST} characters")
        raise typer.Exit(output.Exit.BAD_INPUT)
    return password


def _done(work: Coroutine[Any, Any, None]) -> None:
    try:
        asyncio.run(work)
    except KeyFileError as error:
        output.stop(str(error))
    except UnknownUserError as e:
        output.complain(str(e))
        raise typer.Exit(output.Exit.NO) from e
