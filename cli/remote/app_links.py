"""`gitops app links`: the links of an application, or of one object, to other tools."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlencode

import typer

from cli import output
from cli.command import new_group
from cli.remote import command_runner, find, tables
from cli.remote.app_live import named_object
from cli.remote.errors import ServiceError
from cli.remote.live_options import NamespaceOption
from cli.remote.options import takes
from cli.remote.service_client import ServiceClient
from cli.remote.tables import Columns
from cli.remote.task_client import ask_agent

app = new_group()


@dataclass(frozen=True, slots=True, kw_only=True)
class LinksOptions:
    application: command_runner.AppArgument
    kind: Annotated[
        str,
        typer.Option(
            "--kind", metavar="KIND", help="Of one object: kind or Kind.group, as Deployment.apps."
        ),
    ] = ""
    name: Annotated[str, typer.Option("--name", help="The name of that object.")] = ""
    namespace: NamespaceOption = None
    timeout: command_runner.TimeoutOption = "1m"
    context: command_runner.ContextOption = ""
    as_json: command_runner.JsonOption = False


@app.command(epilog=command_runner.AGENT_ANSWER)
@takes(LinksOptions)
def links(options: LinksOptions) -> None:
    """List the links to other tools that `argocd-cm` describes."""

    async def work(client: ServiceClient) -> output.Exit:
        if bool(options.kind) != bool(options.name):
            text = "expected --kind and --name of one object, or neither"
            raise ServiceError(text, output.Exit.BAD_INPUT)
        seconds = command_runner.seconds("--timeout", options.timeout)
        found = await find.application(client, options.application)
        path = f"{find.path('applications', found.id)}/links"
        if options.kind:
            path += f"?{urlencode(named_object(found, options))}"
        body = await ask_agent(client, path, seconds)
        if options.as_json:
            output.lines(body["items"])
        else:
            rows = ((it["title"], it["url"], it["description"]) for it in body["items"])
            columns = Columns(head=("Title", "URL", "Description"), kept=2, sentence=True)
            tables.table(columns, rows, "It has no links.")
        for problem in body["problems"]:
            output.complain(problem)
        return output.Exit.FINE

    command_runner.call(options.context, work)
