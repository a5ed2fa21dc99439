"""`gitops app exec`: a shell in a container of an application's pod, in this terminal.

The terminal is raw meanwhile: every key goes to the shell, and what the container prints is shown
as it is. The exit code is that of the shell.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Annotated

import typer

from cli import output
from cli.command import new_group
from cli.remote import answers, command_runner, find
from cli.remote.app_objects import tree_of
from cli.remote.errors import ServiceError
from cli.remote.formatting import clean
from cli.remote.options import takes
from cli.remote.service_client import ServiceClient
from cli.remote.service_types import ApplicationDetail, TreeNode
from cli.remote.terminal import Terminal, open_terminal
from cli.remote.terminal_socket import TerminalSocket

app = new_group()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecOptions:
    application: command_runner.AppArgument
    pod: Annotated[str, typer.Option("--pod", help="May be left out where there is one.")] = ""
    container: Annotated[
        str, typer.Option("--container", "-c", help="Else the pod's default container.")
    ] = ""
    timeout: command_runner.TimeoutOption = "1m"
    context: command_runner.ContextOption = ""


@app.command(
    epilog="Exit codes: 0 and any other are those of the shell; without a shell 1 the agent could"
    f" not, 2 there is no such pod or no terminal, {command_runner.REFUSALS}."
)
@takes(ExecOptions)
def exec(options: ExecOptions) -> None:  # noqa: A001  the name of the verb
    """Open a shell in a container; it has to be switched on, and takes a permission of its own."""

    async def work(client: ServiceClient) -> int:
        with open_terminal() as terminal:
            found = await find.application(client, options.application)
            pod = await _pod(client, found, options)
            return await _shell(client, (found, pod), options, terminal)

    command_runner.call(options.context, work)


async def _pod(client: ServiceClient, it: ApplicationDetail, options: ExecOptions) -> TreeNode:
    """Choose the pod; raises ServiceError where none is named and there are several."""
    tree = await tree_of(client, it, command_runner.seconds("--timeout", options.timeout))
    nodes = [answers.read(node, TreeNode) for node in tree["nodes"]]
    pods = [node for node in nodes if node.kind == "Pod"]
    chosen = [pod for pod in pods if options.pod in ("", pod.name)]
    if len(chosen) == 1:
        return chosen[0]
    names = ", ".join(sorted(pod.name for pod in pods)) or "none"
    what = f"no pod {options.pod}" if options.pod else "expected one pod; choose it with --pod"
    raise ServiceError(f"{what}; there are: {names}", output.Exit.BAD_INPUT)


async def _shell(
    client: ServiceClient,
    place: tuple[ApplicationDetail, TreeNode],
    options: ExecOptions,
    terminal: Terminal,
) -> int:
    found, pod = place
    columns, rows = terminal.size()
    query: dict[str, str | int | None] = {
        "pod": pod.name,
        "namespace": pod.namespace,
        "container": options.container,
        "columns": columns,
        "rows": rows,
    }
    path = f"{find.path('applications', found.id)}/exec"
    async with client.websocket(path, query) as socket:
        shell = TerminalSocket(socket=socket, terminal=terminal)
        with terminal.raw(asyncio.get_running_loop(), shell.typed, shell.resized):
            ended = await shell.run()
    if ended.exit_code is None:
        raise ServiceError(clean(ended.reason) or "the shell ended", output.Exit.NO)
    return ended.exit_code
