"""`gitops app manifests`: the desired state of an application, rendered by its agent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlencode

import typer

from cli import output
from cli.command import new_group
from cli.manifest_text import manifest_text
from cli.remote import answers, command_runner, find
from cli.remote.options import takes
from cli.remote.service_client import ServiceClient
from cli.remote.task_client import ask_agent

app = new_group()


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifests:
    application: command_runner.AppArgument
    revision: Annotated[
        str,
        typer.Option("--revision", help="A branch, tag or commit instead of what is rendered now."),
    ] = ""
    timeout: command_runner.TimeoutOption = "1m"
    context: command_runner.ContextOption = ""
    as_json: command_runner.JsonOption = False


@app.command(epilog=command_runner.AGENT_ANSWER)
@takes(Manifests)
def manifests(options: Manifests) -> None:
    """Print the manifests that Git wants, as YAML; values of Secrets are masked."""

    async def work(client: ServiceClient) -> output.Exit:
        seconds = command_runner.seconds("--timeout", options.timeout)
        found = await find.application(client, options.application)
        query = f"?{urlencode({'revision': options.revision})}" if options.revision else ""
        path = f"{find.path('applications', found.id)}/manifests{query}"
        body = await ask_agent(client, path, seconds)
        if options.as_json:
            output.lines(body["manifests"])
        elif body["manifests"]:
            output.text(manifest_text(body["manifests"]).rstrip("\n"))
        else:
            output.complain(f"{answers.full_name(found)} renders to no objects")
        return output.Exit.FINE

    command_runner.call(options.context, work)
