"""`gitops agent list|create|manifest|revoke`: the agents that a service knows."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from cli import output
from cli.command import new_group
from cli.output import Exit
from cli.remote import answers, command_runner, find, tables
from cli.remote.confirmation import YesOption, confirm
from cli.remote.errors import ServiceError
from cli.remote.formatting import age, day
from cli.remote.service_client import ServiceClient
from cli.remote.service_types import AgentSummary
from cli.remote.tables import Columns

app = new_group()

AgentArgument = Annotated[str, typer.Argument(metavar="AGENT", help="Its name or id.")]


class ManifestFormatOption(StrEnum):
    YAML = "yaml"
    HELM = "helm"
    KUSTOMIZE = "kustomize"


class AgentScopeOption(StrEnum):
    CLUSTER = "cluster"
    NAMESPACE = "namespace"


@app.command(name="list", epilog=f"Exit codes: 0 fine, {command_runner.REFUSALS}.")
def list_agents(
    context: command_runner.ContextOption = "", *, as_json: command_runner.JsonOption = False
) -> None:
    """List agents, those that are away first."""

    async def work(client: ServiceClient) -> output.Exit:
        found = [it async for it in client.pages("/agents")]
        if as_json:
            output.lines(found)
            return output.Exit.FINE
        agents = [answers.read(it, AgentSummary) for it in found]
        _table(sorted(agents, key=lambda it: (tables.badness(it.status), it.name)))
        return output.Exit.FINE

    command_runner.call(context, work)


@app.command(epilog=f"Exit codes: 0 made, 2 wrong usage, {command_runner.REFUSALS}.")
def create(
    name: Annotated[str, typer.Argument(help="Part of its identity: it cannot change later.")],
    environment: Annotated[str, typer.Option("--environment", help="E.g. prod.")] = "",
    region: Annotated[str, typer.Option("--region", help="E.g. eu.")] = "",
    token_file: Annotated[
        Path | None,
        typer.Option("--token-file", help="Where its one-time token goes, readable by you only."),
    ] = None,
    context: command_runner.ContextOption = "",
    *,
    as_json: command_runner.JsonOption = False,
) -> None:
    """Create an agent; its one-time enrolment token is shown once, or written to a file."""

    async def work(client: ServiceClient) -> output.Exit:
        body = {"name": name, "environment": environment, "region": region}
        agent = await client.post("/agents", body)
        made = await client.post(f"{find.path('agents', agent['id'])}/enrolment-token")
        if token_file:
            write_secret(token_file, made.pop("token"))
        _made(agent, made, token_file, as_json=as_json)
        return output.Exit.FINE

    if token_file and token_file.exists():
        output.stop(f"--token-file {token_file}: it already exists")
    command_runner.call(context, work)


@app.command(epilog=f"Exit codes: 0 fine, 2 wrong usage, {command_runner.REFUSALS}.")
def manifest(
    agent: AgentArgument,
    form: Annotated[
        ManifestFormatOption, typer.Option("--format", help="What to install with.")
    ] = ManifestFormatOption.YAML,
    namespace: Annotated[str, typer.Option("--namespace", help="Where it runs.")] = "argocd",
    scope: Annotated[
        AgentScopeOption, typer.Option("--scope", help="What it manages.")
    ] = AgentScopeOption.CLUSTER,
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="registry, pullSecret, proxy, caSecret, features (sync, logs, manage, "
            "create-namespaces; with commas, no spaces), readOnly or definitions (true or false).",
        ),
    ] = None,
    context: command_runner.ContextOption = "",
) -> None:
    """Print the manifests that install an agent; they hold no secret."""

    async def work(client: ServiceClient) -> output.Exit:
        query = {"format": str(form), "namespace": namespace, "scope": str(scope)}
        found = await find.agent(client, agent)
        path = f"{find.path('agents', found.id)}/manifest"
        output.text((await client.text(path, {**query, **_options(option or [])})).rstrip("\n"))
        return output.Exit.FINE

    command_runner.call(context, work)


@app.command(epilog=f"Exit codes: 0 revoked, 2 there is no such agent, {command_runner.REFUSALS}.")
def revoke(
    agent: AgentArgument,
    context: command_runner.ContextOption = "",
    *,
    yes: YesOption = False,
    as_json: command_runner.JsonOption = False,
) -> None:
    """Cut an agent's link now; its key is never accepted again. A person is asked first."""

    async def work(client: ServiceClient) -> output.Exit:
        found = await find.agent(client, agent)
        lost = f"its link is cut and its key is never accepted again; {found.applications}"
        confirm(f"agent {found.name} will be revoked: {lost} applications stay", yes=yes)
        plain = await client.post(f"{find.path('agents', found.id)}/revoke")
        if as_json:
            output.line(plain)
        else:
            tables.line(found.name, tables.status(answers.read(plain, AgentSummary).status))
        return output.Exit.FINE

    command_runner.call(context, work)


_OPTIONS = (
    *("registry", "pullSecret", "proxy", "caSecret"),
    *("features", "readOnly", "definitions"),
)


_NONE = ","
"""No feature at all: what is empty is not sent, and then the default is taken."""


def _options(written: list[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in written]
    for name, equals, _ in pairs:
        if name not in _OPTIONS or not equals:
            ways = f"NAME=VALUE with one of {', '.join(_OPTIONS)}"
            raise ServiceError(f"--set: expected {ways}, found {name!r}", output.Exit.BAD_INPUT)
    found = {name: value for name, _, value in pairs}
    return {**found, **({"features": _NONE} if found.get("features") == "" else {})}


def _made(
    agent: dict[str, Any], made: dict[str, Any], token_file: Path | None, *, as_json: bool
) -> None:
    if as_json:
        output.line({"agent": agent, **made})
        return
    where = f"in {token_file}" if token_file else f"{made['token']} (shown once)"
    tables.facts(
        (
            ("Agent", str(agent["name"])),
            ("Token", where),
            ("until", day(made["expiresAt"])),
            ("Next", f"gitops agent manifest {agent['name']} | kubectl apply --server-side -f -"),
        )
    )


def _table(agents: list[AgentSummary]) -> None:
    now = datetime.now(UTC)
    rows = (
        (
            it.name,
            tables.status(it.status),
            age(it.heard_at, now),
            str(it.applications),
            it.environment,
            it.region,
            it.version + (f" ({it.upgrade_available} is out)" if it.upgrade_available else ""),
            _note(it),
        )
        for it in agents
    )
    head = ("Agent", "Status", "Last seen", "Apps", "Environment", "Region", "Version", "Note")
    tables.table(
        Columns(head=head, kept=2, sentence=True), rows, "No agents yet: gitops agent create NAME"
    )


def _note(it: AgentSummary) -> str:
    """Say what a person has to decide, or wait for."""
    if it.quarantined:
        return "quarantined: gitops agent epochs accept or reject"
    if it.deletions:
        counts = ", ".join(f"{count} {kind}" for kind, count in it.deletions.kinds.items())
        return f"deletions held ({counts}): gitops agent deletions accept"
    return "being rebuilt" if it.rebuilding_since else ""


def write_secret(path: Path, secret: str) -> None:
    """Write a new file; raises ServiceError if it exists: others might own it or read it."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as e:
        raise ServiceError(f"{path} cannot be written: {e.strerror}", Exit.BAD_INPUT) from e
    with os.fdopen(handle, "w") as stream:
        stream.write(f"{secret}\n")
