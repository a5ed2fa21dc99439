"""`gitops agent list|create|manifest|revoke`: the agents that a service knows."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from cli import say
from cli.columns import Columns
from cli.far import calling, find, shapes, show
from cli.far.client import Far
from cli.far.confirmation import YesOption, confirm
from cli.far.errors import FarError
from cli.far.secret_file import write_secret
from cli.far.text import age, day

app = calling.new_app()

AgentArgument = Annotated[str, typer.Argument(metavar="AGENT", help="Its name or id.")]


class Format(StrEnum):
    YAML = "yaml"
    HELM = "helm"
    KUSTOMIZE = "kustomize"


class Scope(StrEnum):
    CLUSTER = "cluster"
    NAMESPACE = "namespace"


@app.command(name="list", epilog=f"Exit codes: 0 fine, {calling.REFUSALS}.")
def list_agents(
    context: calling.ContextOption = "", *, as_json: calling.JsonOption = False
) -> None:
    """Agents, those that are away first."""

    async def work(far: Far) -> say.Exit:
        found = [it async for it in far.pages("/agents")]
        if as_json:
            say.lines(found)
            return say.Exit.FINE
        agents = [shapes.read(it, shapes.Agent) for it in found]
        _table(sorted(agents, key=lambda it: (show.badness(it.status), it.name)))
        return say.Exit.FINE

    calling.call(context, work)


@app.command(epilog=f"Exit codes: 0 made, 2 wrong usage, {calling.REFUSALS}.")
def create(
    name: Annotated[str, typer.Argument(help="Part of its identity: it cannot change later.")],
    environment: Annotated[str, typer.Option("--environment", help="E.g. prod.")] = "",
    region: Annotated[str, typer.Option("--region", help="E.g. eu.")] = "",
    token_file: Annotated[
        Path | None,
        typer.Option("--token-file", help="Where its one-time token goes, readable by you only."),
    ] = None,
    context: calling.ContextOption = "",
    *,
    as_json: calling.JsonOption = False,
) -> None:
    """Make an agent; its one-time enrolment token is shown once, or written to a file."""

    async def work(far: Far) -> say.Exit:
        body = {"name": name, "environment": environment, "region": region}
        agent = await far.post("/agents", body)
        made = await far.post(f"{find.path('agents', agent['id'])}/enrolment-token")
        if token_file:
            write_secret(token_file, made.pop("token"))
        _made(agent, made, token_file, as_json=as_json)
        return say.Exit.FINE

    if token_file and token_file.exists():
        say.stop(f"--token-file {token_file}: it already exists")
    calling.call(context, work)


@app.command(epilog=f"Exit codes: 0 fine, 2 wrong usage, {calling.REFUSALS}.")
def manifest(
    agent: AgentArgument,
    form: Annotated[Format, typer.Option("--format", help="What to install with.")] = Format.YAML,
    namespace: Annotated[str, typer.Option("--namespace", help="Where it runs.")] = "argocd",
    scope: Annotated[Scope, typer.Option("--scope", help="What it manages.")] = Scope.CLUSTER,
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="registry, pullSecret, proxy, caSecret, features (sync,logs,manage,"
            "create-namespaces), readOnly or definitions (true or false).",
        ),
    ] = None,
    context: calling.ContextOption = "",
) -> None:
    """What installs this agent, for kubectl apply; it holds no secret."""

    async def work(far: Far) -> say.Exit:
        query = {"format": str(form), "namespace": namespace, "scope": str(scope)}
        found = await find.agent(far, agent)
        path = f"{find.path('agents', found.id)}/manifest"
        say.text((await far.text(path, {**query, **_options(option or [])})).rstrip("\n"))
        return say.Exit.FINE

    calling.call(context, work)


@app.command(epilog=f"Exit codes: 0 revoked, 2 there is no such agent, {calling.REFUSALS}.")
def revoke(
    agent: AgentArgument,
    context: calling.ContextOption = "",
    *,
    yes: YesOption = False,
    as_json: calling.JsonOption = False,
) -> None:
    """Cut an agent's link now; its key is never accepted again. A person is asked first."""

    async def work(far: Far) -> say.Exit:
        found = await find.agent(far, agent)
        lost = f"its link is cut and its key is never accepted again; {found.applications}"
        confirm(f"agent {found.name} will be revoked: {lost} applications stay", yes=yes)
        plain = await far.post(f"{find.path('agents', found.id)}/revoke")
        if as_json:
            say.line(plain)
        else:
            show.line(found.name, show.status(shapes.read(plain, shapes.Agent).status))
        return say.Exit.FINE

    calling.call(context, work)


_OPTIONS = (
    *("registry", "pullSecret", "proxy", "caSecret"),
    *("features", "readOnly", "definitions"),
)


_NONE = ","
"""No feature at all: what is empty is not sent, and then the default is taken."""


def _options(given: list[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in given]
    for name, equals, _ in pairs:
        if name not in _OPTIONS or not equals:
            ways = f"NAME=VALUE with one of {', '.join(_OPTIONS)}"
            raise FarError(f"--set: expected {ways}, found {name!r}", say.Exit.BAD_INPUT)
    found = {name: value for name, _, value in pairs}
    return {**found, **({"features": _NONE} if found.get("features") == "" else {})}


def _made(
    agent: dict[str, Any], made: dict[str, Any], token_file: Path | None, *, as_json: bool
) -> None:
    if as_json:
        say.line({"agent": agent, **made})
        return
    where = f"in {token_file}" if token_file else f"{made['token']} (shown once)"
    show.facts(
        (
            ("Agent", str(agent["name"])),
            ("Token", where),
            ("until", day(made["expiresAt"])),
            ("Next", f"gitops agent manifest {agent['name']} | kubectl apply --server-side -f -"),
        )
    )


def _table(agents: list[shapes.Agent]) -> None:
    now = datetime.now(UTC)
    rows = (
        (
            it.name,
            show.status(it.status),
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
    show.table(
        Columns(head=head, kept=2, sentence=True), rows, "No agents yet: gitops agent create NAME"
    )


def _note(it: shapes.Agent) -> str:
    """What a person has to decide, or wait for."""
    if it.quarantined:
        return "quarantined: gitops agent epochs accept or reject"
    if it.deletions:
        held = ", ".join(f"{count} {kind}" for kind, count in it.deletions["kinds"].items())
        return f"deletions held ({held}): gitops agent deletions accept"
    return "being rebuilt" if it.rebuilding_since else ""
