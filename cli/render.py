"""`gitops render`: what an Application would deploy, from local files or its repository."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
import typer

from agent.sandbox.binary import SandboxMissingError
from agent.sandbox.pool import Sandbox
from agent.sandbox.reasons import SandboxError
from cli import say
from cli.inputs import Document, InputError, Manifests, refuse
from cli.refusals import Refusals, is_project, projects_of, refusals
from cli.rendering import read_app, render
from cli.sources import files_of
from handlers.application.application import Application
from handlers.ports import RepositoryError

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command(name="render", epilog="Exit codes: 0 rendered, 2 not: the message says where and why.")
def render_command(
    file: Annotated[
        list[str], typer.Option("-f", "--file", help="File with Applications; repeatable.")
    ],
    repo: Annotated[
        str, typer.Option(metavar="DIR", help="Take files from here instead of repoURL.")
    ] = "",
    revision: Annotated[
        str, typer.Option(help="Of --repo: this commit, not the files as they are.")
    ] = "",
    *,
    as_json: Annotated[bool, typer.Option("--json", help="One object a line, as JSON.")] = False,
) -> None:
    """The objects that the Applications in FILE would deploy, as YAML.

    A kind's scope is supposed, as no cluster is asked; nothing is written anywhere. Where the
    AppProject is in FILE too, what the agent would refuse by its rules is said.
    """
    say.as_it_comes()
    try:
        raise typer.Exit(asyncio.run(_render_all(file, repo, revision, as_json=as_json)))
    except SandboxMissingError as e:
        say.stop(str(e))


async def _render_all(files: Sequence[str], repo: str, revision: str, *, as_json: bool) -> say.Exit:
    worst = say.Exit.FINE
    async with Manifests() as manifests:
        inputs = [one async for one in manifests.each(files)]
        projects, bad = projects_of(one for one in inputs if isinstance(one, Document))
        wanted = (one for one in inputs if isinstance(one, InputError) or not is_project(one))
        for found in (*bad, *wanted):
            try:
                if isinstance(found, InputError):
                    raise found
                one = await rendered(found, manifests, repo, revision)
                told = complain(one, refusals(one.app, projects, one.objects))
                if as_json and told:
                    say.line(_refusal_line(found.file, one, told))
                await _show(one.objects, await manifests.sandbox(), as_json=as_json)
            except (InputError, RepositoryError) as e:
                file = found.file if isinstance(found, Document) else ""
                worst = refuse(e, file, as_json=as_json)
    return worst


class Rendered(msgspec.Struct, frozen=True):
    app: Application
    objects: Sequence[dict[str, Any]]


async def rendered(document: Document, manifests: Manifests, repo: str, revision: str) -> Rendered:
    """Raises InputError or RepositoryError."""
    application = read_app(document)
    async with files_of(application, repo, revision) as files:
        return Rendered(application, await render(application, files, await manifests.sandbox()))


def complain(one: Rendered, found: Refusals | None) -> Sequence[str]:
    """What the agent would refuse, said to people; whether it is an error is theirs to judge."""
    told = found.all if found is not None else []
    for why in told:
        say.complain(f"{one.app.key}: the agent would refuse this: {why}")
    return told


def _refusal_line(file: str, one: Rendered, told: Sequence[str]) -> dict[str, object]:
    """Before the objects, which are what would be applied and nothing else."""
    return {"file": file, "application": str(one.app.key), "refusals": told}


async def _show(objects: Sequence[dict[str, Any]], sandbox: Sandbox, *, as_json: bool) -> None:
    for one in objects:
        if as_json:
            say.line(one)
        else:
            say.text(f"---\n{await _yaml(one, sandbox)}")


async def _yaml(manifest: dict[str, Any], sandbox: Sandbox) -> str:
    """The sandbox writes YAML as it reads it: as Kubernetes tools do."""
    body = msgspec.json.encode(manifest)
    try:
        answer = await sandbox.evaluate("gotemplate", {"templates": ["{{ toYaml . }}"]}, body)
    except SandboxError as e:
        raise InputError(e.message) from e
    texts: list[str] = msgspec.json.decode(answer)
    return texts[0].rstrip()
