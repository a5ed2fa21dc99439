"""`gitops app logs`: the logs of one pod or of all pods of an application.

Each pod is a stream of its own, asked of the agent by way of the service. Without --follow the pods
come one after the other; with it all at once, so a line says which pod it is of. A stream that was
too fast is not kept: the number of lines left out is printed to standard error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from cli import output
from cli.command import new_group
from cli.remote import answers, change_waiting, command_runner, find
from cli.remote.app_objects import tree_of
from cli.remote.errors import ServiceError
from cli.remote.formatting import clean, log_line
from cli.remote.options import takes
from cli.remote.service_client import ServiceClient
from cli.remote.service_types import ApplicationDetail, TreeNode

app = new_group()

_MOST_FOLLOWED = 8
"""Pods that are followed at once: an agent has sixteen streams for everybody."""
_WELL = "succeeded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Logs:
    application: command_runner.AppArgument
    pod: Annotated[str, typer.Option("--pod", help="Only this pod; else all pods.")] = ""
    container: Annotated[
        str, typer.Option("--container", "-c", help="Of a pod that has several.")
    ] = ""
    tail: Annotated[int, typer.Option("--tail", min=0, help="Last lines of each pod.")] = 200
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Continue until Ctrl-C.")] = False
    previous: Annotated[
        bool, typer.Option("--previous", "-p", help="Of the container that ran before.")
    ] = False
    timeout: command_runner.TimeoutOption = "1m"
    context: command_runner.ContextOption = ""
    as_json: command_runner.JsonOption = False


@app.command(
    epilog="Exit codes: 0 all was read, 1 a log cannot be read, 2 there is no such application,"
    f" {command_runner.REFUSALS}. Ctrl-C ends --follow with 0."
)
@takes(Logs)
def logs(options: Logs) -> None:
    """Print the logs of an application's pods; known secrets are masked."""

    async def work(client: ServiceClient) -> output.Exit:
        found = await find.application(client, options.application)
        pods = await _pods(client, found, options)
        if not pods:
            output.complain(f"{answers.full_name(found)} has no pods")
            return output.Exit.NO
        path = f"{find.path('applications', found.id)}/logs"
        alone = len(pods) == 1
        reading = [
            Reading(client=client, path=path, options=options, pod=it, alone=alone) for it in pods
        ]
        return max(await _followed(reading) if options.follow else await _one_by_one(reading))

    output.as_it_comes()
    interrupted = output.Exit.FINE if options.follow else output.Exit.INTERRUPTED
    command_runner.call(options.context, work, interrupted=interrupted)


async def _pods(client: ServiceClient, it: ApplicationDetail, options: Logs) -> list[TreeNode]:
    """Choose the pods; raises ServiceError for too many to follow, or for an unknown one."""
    tree = await tree_of(client, it, command_runner.seconds("--timeout", options.timeout))
    nodes = [answers.read(node, TreeNode) for node in tree["nodes"]]
    pods = sorted((it for it in nodes if it.kind == "Pod"), key=lambda pod: pod.name)
    chosen = [it for it in pods if options.pod in ("", it.name)]
    names = ", ".join(it.name for it in pods)
    if pods and not chosen:
        raise ServiceError(f"no pod {options.pod}; there are: {names}", output.Exit.BAD_INPUT)
    if options.follow and len(chosen) > _MOST_FOLLOWED:
        text = f"{len(chosen)} pods are too many to follow at once (at most {_MOST_FOLLOWED})"
        raise ServiceError(f"{text}; choose one with --pod: {names}", output.Exit.BAD_INPUT)
    return chosen


async def _one_by_one(reading: Sequence[Reading]) -> list[output.Exit]:
    return [await it.run() for it in reading]


async def _followed(reading: Sequence[Reading]) -> list[output.Exit]:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(it.run(), name=f"log of {it.pod.name}") for it in reading]
    return [it.result() for it in tasks]


@dataclass(slots=True, kw_only=True)
class Reading:
    """The log of one pod, printed line by line; with `alone` the lines carry no pod's name."""

    client: ServiceClient
    path: str
    options: Logs
    pod: TreeNode
    alone: bool
    _begun: str = ""
    """The beginning of a line whose end has not come yet: the stream cuts lines anywhere."""

    async def run(self) -> output.Exit:
        """Print the log and return the code of its end: one failed log does not end the others."""
        try:
            return await self._read()
        except ServiceError as e:
            output.complain(f"{self.pod.name}: {e}")
            return e.code

    async def _read(self) -> output.Exit:
        async with self.client.open(self.path, self._query) as response:
            async for event in change_waiting.read_events(aiter(response.content)):
                match event.name:
                    case "end":
                        return self._end(str(event.data.get("reason", "")))
                    case "dropped":
                        count = event.data.get("value")
                        output.complain(
                            f"{self.pod.name}: {count} lines were too fast and left out"
                        )
                    case _:
                        self._feed(str(event.data.get("text", "")))
        raise ServiceError("the service cut the log. Try again.")

    @property
    def _query(self) -> dict[str, str | int]:
        return {
            "pod": self.pod.name,
            "namespace": self.pod.namespace,
            "container": self.options.container,
            "tail": self.options.tail,
            "follow": str(self.options.follow).lower(),
            "previous": str(self.options.previous).lower(),
        }

    def _feed(self, text: str) -> None:
        *lines, self._begun = (self._begun + text).split("\n")
        for line in lines:
            self._print(line)

    def _print(self, line: str) -> None:
        if self.options.as_json:
            output.line({"pod": self.pod.name, "namespace": self.pod.namespace, "line": line})
        else:
            output.text(log_line(line) if self.alone else f"{self.pod.name}  {log_line(line)}")

    def _end(self, reason: str) -> output.Exit:
        if self._begun:
            self._print(self._begun)
        if reason == _WELL:
            return output.Exit.FINE
        raise ServiceError(clean(reason) or "the log ended without a reason", output.Exit.NO)
