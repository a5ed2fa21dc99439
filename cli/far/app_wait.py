"""`gitops app wait`: until an application is Synced and Healthy, as its agent says it now.

What an agent that is away said last is no yes. An operation that fails while one waits is a no.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

import typer

from cli import say
from cli.far import calling, find, shapes, show
from cli.far.client import Far
from cli.far.given import takes
from cli.far.sse import Told
from cli.far.watching import Watch

app = calling.new_app()

_HERE = ("connected", "stale")
_RUNNING = ("Running", "Terminating")
_FAILED = ("Failed", "Error")
_OF_AGENT = "agent.changed"
_TYPES = f"application.changed,application.removed,{_OF_AGENT}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    application: calling.AppArgument
    revision: Annotated[
        str, typer.Option("--revision", help="Synced to this commit; its first digits will do.")
    ] = ""
    sync: Annotated[bool, typer.Option("--sync", help="For Synced only.")] = False
    health: Annotated[bool, typer.Option("--health", help="For Healthy only.")] = False
    timeout: calling.TimeoutOption = "10m"
    context: calling.ContextOption = ""
    as_json: calling.JsonOption = False

    @property
    def wanted(self) -> Wanted:
        return Wanted(
            sync=self.sync or not self.health,
            health=self.health or not self.sync,
            revision=self.revision,
        )


@app.command(
    epilog="Exit codes: 0 yes, 1 no: an operation failed meanwhile, or --timeout 0 and not so,"
    " 2 wrong usage, 3 refused, 4 not allowed, 5 timed out."
)
@takes(Wait)
def wait(given: Wait) -> None:
    """Wait until it is Synced and Healthy, or the one that is named."""

    async def work(far: Far) -> say.Exit:
        seconds = calling.seconds("--timeout", given.timeout)
        found = await find.application(far, given.application)
        waiting = Waiting(far=far, it=found, wanted=given.wanted)
        code = await waiting.until(seconds)
        if given.as_json:
            say.line(waiting.plain)
        else:
            _tell(shapes.read(waiting.plain, shapes.App), code)
        return code

    calling.call(given.context, work)


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


@dataclass(slots=True, kw_only=True)
class Waiting:
    """`plain`: the application as it was at the last look."""

    far: Far
    it: shapes.App
    wanted: Wanted
    plain: dict[str, Any] = field(default_factory=dict)
    _failed: bool = False
    _before: str | None = None

    async def until(self, seconds: float) -> say.Exit:
        watch = Watch(
            far=self.far,
            query={"agent": self.it.agent.id, "types": _TYPES},
            look=self._look,
            concerns=self._concerns,
        )
        if await watch.until(seconds):
            return say.Exit.NO if self._failed else say.Exit.FINE
        return say.Exit.TIMEOUT if seconds else say.Exit.NO

    def _concerns(self, event: Told) -> bool:
        name = f"{self.it.namespace}/{self.it.name}"
        return event.name == _OF_AGENT or event.data.get("subject") == name

    async def _look(self, _: Told | None) -> bool:
        self.plain = await self.far.get(find.path("applications", self.it.id))
        it = shapes.read(self.plain, shapes.App)
        finished = _finished(it)
        self._before = finished if self._before is None else self._before
        ended_since = it.phase in _FAILED and finished != self._before
        met = self.wanted.met(it)
        self._failed = not met and self.wanted.sync and ended_since
        return met or self._failed


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
        say.complain(f"{it.full_name}: timed out{away}")
