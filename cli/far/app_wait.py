"""`gitops app wait`: until an application is Synced and Healthy, as its agent says it now.

What an agent that is away said last is no yes. An operation that fails while one waits is a no.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from cli import say
from cli.far import calling, find, shapes, show
from cli.far.asking import looks
from cli.far.client import Far

app = calling.new_app()

_HERE = ("connected", "stale")
_RUNNING = ("Running", "Terminating")
_FAILED = ("Failed", "Error")


@app.command(
    epilog="Exit codes: 0 yes, 1 no: an operation failed meanwhile, or --timeout 0 and not so,"
    " 2 wrong usage, 3 refused, 4 not allowed, 5 not so in time."
)
def wait(  # noqa: PLR0913  a command's options are its parameters
    application: calling.AppArgument,
    context: calling.ContextOption = "",
    revision: Annotated[
        str, typer.Option("--revision", help="Synced to this commit; its first digits will do.")
    ] = "",
    timeout: calling.TimeoutOption = "10m",
    *,
    sync: Annotated[bool, typer.Option("--sync", help="For Synced only.")] = False,
    health: Annotated[bool, typer.Option("--health", help="For Healthy only.")] = False,
    as_json: calling.JsonOption = False,
) -> None:
    """Wait until it is Synced and Healthy, or the one that is named."""

    async def work(far: Far) -> say.Exit:
        seconds = calling.seconds("--timeout", timeout)
        found = await find.application(far, application)
        wanted = Wanted(sync=sync or not health, health=health or not sync, revision=revision)
        plain, code = await _wait(far, found.id, wanted, seconds)
        if as_json:
            say.line(plain)
        else:
            _tell(shapes.read(plain, shapes.App), code)
        return code

    calling.call(context, work)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What has to be so."""

    sync: bool
    health: bool
    revision: str

    def met(self, it: shapes.App) -> bool:
        return (
            it.agent.status in _HERE
            and it.phase not in _RUNNING
            and (not self.sync or it.sync == "Synced")
            and (not self.health or it.health == "Healthy")
            and it.revision.startswith(self.revision)
        )


async def _wait(
    far: Far, id_: str, wanted: Wanted, seconds: float
) -> tuple[dict[str, Any], say.Exit]:
    """The application as it was at the last look, and the verdict."""
    before: str | None = None
    plain: dict[str, Any] = {}
    async for _ in looks(seconds):
        plain = await far.get(find.path("applications", id_))
        it = shapes.read(plain, shapes.App)
        if wanted.met(it):
            return plain, say.Exit.FINE
        finished = _finished(it)
        before = finished if before is None else before
        if wanted.sync and it.phase in _FAILED and finished != before:
            return plain, say.Exit.NO
    return plain, say.Exit.TIMEOUT if seconds else say.Exit.NO


def _finished(it: shapes.App) -> str:
    """When the last operation ended; empty where there was none."""
    operation = it.status.get("operationState")
    return str(operation.get("finishedAt") or "") if isinstance(operation, dict) else ""


def _tell(it: shapes.App, code: say.Exit) -> None:
    show.line(it.full_name, show.status(it.sync), show.status(it.health), it.health_message)
    if code is say.Exit.NO and it.phase in _FAILED:
        say.complain(f"{it.full_name}: its operation ended as {it.phase}")
    if code is say.Exit.TIMEOUT:
        away = "" if it.agent.status in _HERE else f"; agent {it.agent.name} is {it.agent.status}"
        say.complain(f"{it.full_name}: not so in time{away}")
