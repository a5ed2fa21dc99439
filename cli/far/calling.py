"""How a command of this folder runs: choose the context, open the far end, tell how it ended."""

from __future__ import annotations

import asyncio
import io
import sys
from collections.abc import Awaitable, Callable
from typing import Annotated, NoReturn

import typer

from agent.durations import seconds_of
from cli import say
from cli.far import contexts
from cli.far.client import Far, open_far
from cli.far.errors import FarError

Work = Callable[[Far], Awaitable[say.Exit]]

REFUSALS = "3 refused, 4 not allowed"
"""Of every command here, in its help."""

ContextOption = Annotated[
    str, typer.Option("--context", help="As who and where: see gitops context list.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="JSON: one line per item.")]
AppArgument = Annotated[
    str, typer.Argument(metavar="APP", help="NAME, NAMESPACE/NAME, AGENT/NAMESPACE/NAME or an id.")
]
TimeoutOption = Annotated[
    str, typer.Option("--timeout", help="How long to wait at most: 90s, 5m, 1h.")
]


def new_app() -> typer.Typer:
    """A Typer whose commands are named, also where there is only one."""
    made = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    made.callback()(_nothing)
    return made


def _nothing() -> None:
    """One of the verbs of this group."""


def call(context: str, work: Work, *, interrupted: say.Exit = say.Exit.INTERRUPTED) -> NoReturn:
    """Runs `work` at the far end of the context and leaves with its code."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    ends(lambda: asyncio.run(_run(context, work)), interrupted=interrupted)


def ends(work: Callable[[], say.Exit], *, interrupted: say.Exit = say.Exit.INTERRUPTED) -> NoReturn:
    """Leaves with the code of `work`, or tells what went wrong."""
    try:
        raise typer.Exit(work())
    except FarError as e:
        say.stop(str(e), e.code)
    except KeyboardInterrupt:
        raise typer.Exit(interrupted) from None


async def _run(context: str, work: Work) -> say.Exit:
    async with open_far(contexts.read().chosen(context)) as far:
        return await work(far)


def seconds(option: str, text: str) -> float:
    """Of an option such as `--timeout 5m`; raises FarError for what is no duration."""
    try:
        found = seconds_of(text)
    except ValueError as e:
        raise FarError(f"{option}: {e}", say.Exit.BAD_INPUT) from e
    assert isinstance(found, float)
    return found
