"""Run a command against the service: choose the context, open the client, report the end."""

from __future__ import annotations

import asyncio
import io
import sys
from collections.abc import Awaitable, Callable
from typing import Annotated, NoReturn

import typer

from agent.durations import seconds_of
from cli import output
from cli.remote import contexts
from cli.remote.errors import ServiceError
from cli.remote.service_client import ServiceClient, open_service_client

Work = Callable[[ServiceClient], Awaitable[int]]
"""Returns the exit code."""

REFUSALS = "3 refused, 4 not allowed"
"""Of every command here, in its help."""
AGENT_ANSWER = f"Exit codes: 0 fine, 1 the agent could not, {REFUSALS}, 5 no answer in time."
"""Of every command whose answer an agent gives, in its help."""

ContextOption = Annotated[
    str, typer.Option("--context", help="Login to use: see gitops context list.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one line of JSON per item.")]
AppArgument = Annotated[
    str, typer.Argument(metavar="APP", help="NAME, NAMESPACE/NAME, AGENT/NAMESPACE/NAME or an id.")
]
TimeoutOption = Annotated[
    str,
    typer.Option("--timeout", metavar="DURATION", help="How long to wait at most: 90s, 5m, 1h."),
]


def call(
    context: str, work: Work, *, interrupted: output.Exit = output.Exit.INTERRUPTED
) -> NoReturn:
    """Run `work` with a client of the context's service, and exit with its code."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    ends(lambda: asyncio.run(_run(context, work)), interrupted=interrupted)


def ends(
    work: Callable[[], int], *, interrupted: output.Exit = output.Exit.INTERRUPTED
) -> NoReturn:
    """Exit with the code of `work`, or print what went wrong."""
    try:
        raise typer.Exit(work())
    except ServiceError as e:
        output.stop(str(e), e.code)
    except KeyboardInterrupt:
        raise typer.Exit(interrupted) from None


async def _run(context: str, work: Work) -> int:
    async with open_service_client(contexts.read().chosen(context)) as client:
        return await work(client)


def seconds(option: str, text: str) -> float:
    """Parse a duration such as `--timeout 5m`; raises ServiceError for anything else."""
    try:
        found = seconds_of(text)
    except ValueError as e:
        raise ServiceError(f"{option}: {e}", output.Exit.BAD_INPUT) from e
    assert isinstance(found, float)
    return found
