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
    as_json: Annotated[bool, typer.Option("--json", help="One line of JSON per input.")] = False,
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
                if as_json:
                    say.line(_line(found, one, told))
                else:
                    await _show(one.objects, await manifests.sandbox())
            except (InputError, RepositoryError) as e:
                worst = refuse(e, found, as_json=as_json)
    return worst


class Rendered(msgspec.Struct, frozen=True):
    app: Application
    objects: Sequence[dict[str, Any]]


async def rendered(document: Document, manifests: Manifests, repo: str, revision: str) -> Rendered:
    """Raises InputError or RepositoryError."""
    application = read_app(document)
    async with files_of(application, repo, revision) as files:
        objects = await render(application, files, await manifests.sandbox())
    if not objects:
        path = application.source.path if application.source else ""
        say.complain(f"{application.key}: {path or 'the root'} holds no manifests")
    return Rendered(application, objects)


def complain(one: Rendered, found: Refusals | None) -> Sequence[str]:
    """What the agent would refuse, said to people; whether it is an error is theirs to judge."""
    told = found.all if found is not None else []
    for why in told:
        say.complain(f"{one.app.key}: the agent would refuse this: {why}")
    return told


def _line(document: Document, one: Rendered, told: Sequence[str]) -> dict[str, object]:
    return {
        "file": document.file,
        "document": document.number,
        "application": str(one.app.key),
        "objects": one.objects,
        "refusals": told,
    }


async def _show(objects: Sequence[dict[str, Any]], sandbox: Sandbox) -> None:
    for one in objects:
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
