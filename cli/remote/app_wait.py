"""`gitops app wait`: wait until an application is Synced and Healthy.

The last report of an agent that is away does not count. An operation that fails meanwhile ends the
wait with a failure.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

import typer

from cli import output
from cli.command import new_group
from cli.remote import answers, command_runner, find, tables
from cli.remote.change_waiting import ChangeWait, ServerEvent
from cli.remote.options import takes
from cli.remote.service_client import ServiceClient
from cli.remote.service_types import ApplicationDetail

app = new_group()

_HERE = ("connected", "stale")
_RUNNING = ("Running", "Terminating")
_FAILED = ("Failed", "Error")
_OF_AGENT = "agent.changed"
_TYPES = f"application.changed,application.removed,{_OF_AGENT}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitOptions:
    application: command_runner.AppArgument
    revision: Annotated[
        str, typer.Option("--revision", help="Synced to this commit; its first digits will do.")
    ] = ""
    sync: Annotated[bool, typer.Option("--sync", help="For Synced only.")] = False
    health: Annotated[bool, typer.Option("--health", help="For Healthy only.")] = False
    timeout: command_runner.TimeoutOption = "10m"
    context: command_runner.ContextOption = ""
    as_json: command_runner.JsonOption = False

    @property
    def goal(self) -> WaitGoal:
        return WaitGoal(
            sync=self.sync or not self.health,
            health=self.health or not self.sync,
            revision=self.revision,
        )


@app.command(
    epilog="Exit codes: 0 yes, 1 no: an operation failed meanwhile, or --timeout 0 and not so,"
    " 2 wrong usage, 3 refused, 4 not allowed, 5 timed out."
)
@takes(WaitOptions)
def wait(options: WaitOptions) -> None:
    """Wait until an application is Synced and Healthy, or only what an option names."""

    async def work(client: ServiceClient) -> output.Exit:
        seconds = command_runner.seconds("--timeout", options.timeout)
        found = await find.application(client, options.application)
        waiting = WaitProgress(client=client, it=found, goal=options.goal)
        code = await waiting.until(seconds)
        if options.as_json:
            output.line(waiting.plain)
        else:
            _show(answers.read(waiting.plain, ApplicationDetail), code)
        return code

    command_runner.call(options.context, work)


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitGoal:
    """The states that the application has to reach."""

    sync: bool
    health: bool
    revision: str

    def met(self, it: ApplicationDetail) -> bool:
        return (
            it.agent.status in _HERE
            and it.phase not in _RUNNING
            and (not self.sync or it.sync == "Synced")
            and (not self.health or it.health == "Healthy")
            and it.revision.startswith(self.revision)
        )


@dataclass(slots=True, kw_only=True)
class WaitProgress:
    """The application at the last look, as `plain` JSON."""

    client: ServiceClient
    it: ApplicationDetail
    goal: WaitGoal
    plain: dict[str, Any] = field(default_factory=dict)
    _failed: bool = False
    _before: str | None = None

    async def until(self, seconds: float) -> output.Exit:
        watch = ChangeWait(
            client=self.client,
            query={"agent": self.it.agent.id, "types": _TYPES},
            look=self._look,
            concerns=self._concerns,
        )
        if await watch.until(seconds):
            return output.Exit.NO if self._failed else output.Exit.FINE
        return output.Exit.TIMEOUT if seconds else output.Exit.NO

    def _concerns(self, event: ServerEvent) -> bool:
        name = f"{self.it.namespace}/{self.it.name}"
        return event.name == _OF_AGENT or event.data.get("subject") == name

    async def _look(self, _: ServerEvent | None) -> bool:
        self.plain = await self.client.get(find.path("applications", self.it.id))
        it = answers.read(self.plain, ApplicationDetail)
        finished = _finished(it)
        self._before = finished if self._before is None else self._before
        ended_since = it.phase in _FAILED and finished != self._before
        met = self.goal.met(it)
        self._failed = not met and self.goal.sync and ended_since
        return met or self._failed


def _finished(it: ApplicationDetail) -> str:
    """The end of the last operation; empty where there was none."""
    operation = it.status.get("operationState")
    return str(operation.get("finishedAt") or "") if isinstance(operation, dict) else ""


def _show(it: ApplicationDetail, code: output.Exit) -> None:
    tables.line(
        answers.full_name(it), tables.status(it.sync), tables.status(it.health), it.health_message
    )
    if code is output.Exit.NO and it.phase in _FAILED:
        output.complain(f"{answers.full_name(it)}: its operation ended as {it.phase}")
    if code is output.Exit.TIMEOUT:
        away = "" if it.agent.status in _HERE else f"; agent {it.agent.name} is {it.agent.status}"
        output.complain(f"{answers.full_name(it)}: timed out{away}")
