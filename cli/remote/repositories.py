"""`gitops repo`: the repositories of agents, by Argo CD's repository Secrets."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated

import typer

from cli import output
from cli.command import new_group
from cli.remote import command_runner, connections, find, tables, task_client
from cli.remote.connections import ConnectionWords, RemoveOptions
from cli.remote.errors import ServiceError
from cli.remote.formatting import age, day
from cli.remote.manifest_writes import InAgentOption
from cli.remote.options import takes
from cli.remote.service_client import ServiceClient
from cli.remote.service_types import ConnectionSummary
from cli.remote.tables import Columns

app = new_group()

_WORDS = ConnectionWords(
    noun="repositories",
    word="repository",
    lost="applications that need it can no longer be refreshed",
)

RepositoryArgument = Annotated[
    str, typer.Argument(metavar="REPO", help="NAME, AGENT/NAME, its URL or an id.")
]


@app.command(name="list", epilog=f"Exit codes: 0 fine, {command_runner.REFUSALS}.")
def list_repositories(
    context: command_runner.ContextOption = "", *, as_json: command_runner.JsonOption = False
) -> None:
    """List repositories, those that fail first."""
    connections.show_all(_WORDS, context, _table, as_json=as_json)


@app.command(
    epilog=f"Exit codes: 0 fine, 2 there is no such repository, {command_runner.REFUSALS}."
)
def get(
    repository: RepositoryArgument,
    context: command_runner.ContextOption = "",
    *,
    as_json: command_runner.JsonOption = False,
) -> None:
    """Show one repository with its state."""
    connections.show_one(_WORDS, repository, context, _one, as_json=as_json)


@app.command(name="test", epilog=command_runner.AGENT_ANSWER)
def reach(
    repository: RepositoryArgument,
    timeout: command_runner.TimeoutOption = "1m",
    context: command_runner.ContextOption = "",
    *,
    as_json: command_runner.JsonOption = False,
) -> None:
    """Ask the agent to reach a repository now, with the credential that it has."""

    async def work(client: ServiceClient) -> output.Exit:
        found = await find.connection(client, _WORDS.noun, repository)
        seconds = command_runner.seconds("--timeout", timeout)
        path = f"{find.path(_WORDS.noun, found.id)}/refs"
        refs = await task_client.ask_agent(client, path, seconds)
        if as_json:
            output.line(refs)
        else:
            counts = ", ".join(f"{len(refs.get(it) or ())} {it}" for it in ("branches", "tags"))
            tables.line(f"{found.agent.name}/{found.name}", tables.status("Successful"), counts)
        return output.Exit.FINE

    command_runner.call(context, work)


class RepositoryType(StrEnum):
    GIT = "git"
    HELM = "helm"
    OCI = "oci"


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryAddOptions:
    url: Annotated[str, typer.Argument(help="As Applications write it, without a login.")]
    agent: InAgentOption = ""
    name: Annotated[str, typer.Option("--name", help="For people; the URL where left out.")] = ""
    type: Annotated[
        RepositoryType, typer.Option("--type", help="What is there; oci: a registry of charts too.")
    ] = RepositoryType.GIT
    project: connections.ProjectOption = ""
    username: Annotated[str, typer.Option("--username", help="Who logs in.")] = ""
    password_file: Annotated[
        str,
        typer.Option(
            "--password-file", metavar="FILE", help="A password or token; `-` reads stdin."
        ),
    ] = ""
    secret: connections.SecretOption = ""
    sealing_key_fingerprint: connections.FingerprintOption = ""
    wait: task_client.WaitOption = False
    timeout: command_runner.TimeoutOption = "5m"
    context: command_runner.ContextOption = ""
    as_json: command_runner.JsonOption = False


@app.command(epilog=task_client.EXITS)
@takes(RepositoryAddOptions)
def add(options: RepositoryAddOptions) -> None:
    """Make a repository known to an agent, or give it another login."""

    async def work(client: ServiceClient) -> output.Exit:
        connections.check_no_login("URL", options.url)
        agent = await find.one_agent(client, options.agent)
        body = {
            "agent": agent.id,
            "name": options.name,
            "url": options.url,
            "type": options.type.value,
            "project": options.project,
            **await connections.credential(client, agent.id, options, _sealed(options)),
        }
        task = await task_client.submit_task(client, f"/{_WORDS.noun}", body)
        return await task_client.wait_for_task(client, [task], options, _WORDS.change("added"))

    command_runner.call(options.context, work)


def _sealed(options: RepositoryAddOptions) -> dict[str, str] | None:
    if not options.password_file:
        if options.username:
            raise ServiceError(
                "--username: expected --password-file with it", output.Exit.BAD_INPUT
            )
        return None
    password = connections.secret_of("--password-file", options.password_file)
    return {"url": options.url, "username": options.username, "password": password}


@app.command(epilog=task_client.EXITS)
@takes(RemoveOptions)
def rm(options: RemoveOptions) -> None:
    """Remove a repository and its credential from an agent. A person is asked first."""
    command_runner.call(options.context, lambda client: connections.remove(client, _WORDS, options))


def _table(found: list[ConnectionSummary]) -> None:
    now = datetime.now(UTC)
    rows = (
        (
            it.url,
            it.agent.name,
            tables.status(it.status or "not used yet"),
            age(it.attempted_at, now),
            it.project,
            it.message,
        )
        for it in found
    )
    head = ("Repository", "Agent", "State", "Used", "Project", "Message")
    tables.table(Columns(head=head, kept=3, sentence=True), rows, "No repositories yet.")


def _one(found: ConnectionSummary) -> None:
    tables.facts((*connections.pairs(found, "URL"), ("Used", day(found.attempted_at))))
