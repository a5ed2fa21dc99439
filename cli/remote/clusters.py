"""`gitops cluster`: the clusters that agents deploy to, by Argo CD's cluster Secrets."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from cli import output
from cli.command import new_group
from cli.remote import command_runner, connections, find, tables, task_client
from cli.remote.connections import ConnectionWords, RemoveOptions
from cli.remote.formatting import age, day
from cli.remote.manifest_writes import InAgentOption
from cli.remote.options import takes
from cli.remote.service_client import ServiceClient
from cli.remote.service_types import ConnectionSummary
from cli.remote.tables import Columns

app = new_group()

_WORDS = ConnectionWords(
    noun="clusters",
    word="cluster",
    lost="its objects stay, and an agent refuses while applications use it",
)

ClusterArgument = Annotated[
    str, typer.Argument(metavar="CLUSTER", help="NAME, AGENT/NAME, its server or an id.")
]


@app.command(name="list", epilog=f"Exit codes: 0 fine, {command_runner.REFUSALS}.")
def list_clusters(
    context: command_runner.ContextOption = "", *, as_json: command_runner.JsonOption = False
) -> None:
    """List clusters, those that fail first."""
    connections.show_all(_WORDS, context, _table, as_json=as_json)


@app.command(epilog=f"Exit codes: 0 fine, 2 there is no such cluster, {command_runner.REFUSALS}.")
def get(
    cluster: ClusterArgument,
    context: command_runner.ContextOption = "",
    *,
    as_json: command_runner.JsonOption = False,
) -> None:
    """Show one cluster: its state, version and objects."""
    connections.show_one(_WORDS, cluster, context, _one, as_json=as_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterAddOptions:
    name: Annotated[str, typer.Argument(help="By which Applications name it.")]
    server: Annotated[
        str,
        typer.Option("--server", help="Its API server, as https://HOST:6443.", show_default=False),
    ]
    agent: InAgentOption = ""
    project: connections.ProjectOption = ""
    token_file: Annotated[
        str,
        typer.Option("--token-file", metavar="FILE", help="A bearer token; `-` reads stdin."),
    ] = ""
    ca_file: Annotated[
        str, typer.Option("--ca-file", metavar="FILE", help="Its authorities, as PEM.")
    ] = ""
    secret: connections.SecretOption = ""
    sealing_key_fingerprint: connections.FingerprintOption = ""
    wait: task_client.WaitOption = False
    timeout: command_runner.TimeoutOption = "5m"
    context: command_runner.ContextOption = ""
    as_json: command_runner.JsonOption = False


@app.command(epilog=task_client.EXITS)
@takes(ClusterAddOptions)
def add(options: ClusterAddOptions) -> None:
    """Make a cluster known to an agent, or give it another token."""

    async def work(client: ServiceClient) -> output.Exit:
        connections.check_no_login("--server", options.server)
        agent = await find.one_agent(client, options.agent)
        body = {
            "agent": agent.id,
            "name": options.name,
            "project": options.project,
            "spec": {"server": options.server},
            **await connections.credential(client, agent.id, options, _sealed(options)),
        }
        task = await task_client.submit_task(client, f"/{_WORDS.noun}", body)
        return await task_client.wait_for_task(client, [task], options, _WORDS.change("added"))

    command_runner.call(options.context, work)


def _sealed(options: ClusterAddOptions) -> dict[str, str] | None:
    """Make what is sealed: where the credential may be used, and Argo CD's `config`."""
    config: dict[str, Any] = {}
    if options.token_file:
        config["bearerToken"] = connections.secret_of("--token-file", options.token_file)
    if options.ca_file:
        authority = connections.secret_of("--ca-file", options.ca_file) + "\n"
        encoded = base64.b64encode(authority.encode()).decode()
        config["tlsClientConfig"] = {"caData": encoded}
    return {"server": options.server, "config": json.dumps(config)} if config else None


@app.command(epilog=task_client.EXITS)
@takes(RemoveOptions)
def rm(options: RemoveOptions) -> None:
    """Remove a cluster and its credential from an agent; its objects stay. A person is asked."""
    command_runner.call(options.context, lambda client: connections.remove(client, _WORDS, options))


def _table(found: list[ConnectionSummary]) -> None:
    now = datetime.now(UTC)
    rows = (
        (
            it.name,
            it.agent.name,
            tables.status(it.status),
            it.server_version,
            str(it.applications),
            str(it.objects),
            it.url,
            age(it.contact_at, now),
            it.message,
        )
        for it in found
    )
    head = (
        *("Cluster", "Agent", "State", "Version", "Apps", "Objects"),
        *("Server", "Last contact", "Message"),
    )
    tables.table(Columns(head=head, kept=3, sentence=True), rows, "No clusters yet.")


def _one(found: ConnectionSummary) -> None:
    tables.facts(
        (
            *connections.pairs(found, "Server"),
            ("Since", day(found.attempted_at)),
            ("Last contact", day(found.contact_at)),
            ("Kubernetes", found.server_version),
            ("Applications", str(found.applications)),
            ("Objects", str(found.objects)),
        )
    )
