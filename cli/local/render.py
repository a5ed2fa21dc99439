"""`gitops render`: the objects of an Application, from local files or its repository."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import msgspec
import typer

from agent.renderer.version_choice import SandboxVersions
from cli import output
from cli.command import new_app
from cli.local.inputs import InputDocument, InputError, InputManifests, refuse
from cli.local.refusals import ProjectRefusals, ignored, is_project, projects_of, refusals
from cli.local.rendering import files_of, read_app, render
from handlers.application.application import Application
from handlers.ports import RepositoryError
from sandbox.client.binary import SandboxMissingError
from sandbox.client.errors import SandboxError
from sandbox.client.pool import Sandbox

app = new_app()


@app.command(name="render", epilog="Exit codes: 0 rendered, 2 not: the message says where and why.")
def render_command(
    file: Annotated[
        list[str], typer.Option("-f", "--file", help="File with Applications; repeatable.")
    ],
    repo: Annotated[
        str, typer.Option(metavar="DIR", help="Take files from here instead of repoURL.")
    ] = "",
    revision: Annotated[
        str, typer.Option(help="A commit of --repo instead of its files as they are.")
    ] = "",
    *,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one line of JSON per input.")
    ] = False,
) -> None:
    """Print the objects that the Applications in FILE would deploy, as YAML.

    No cluster is asked, so a kind's scope is an assumption. With the AppProject in FILE too, what
    the agent would refuse by its rules is shown.
    """
    output.as_it_comes()
    try:
        raise typer.Exit(asyncio.run(_render_all(file, repo, revision, as_json=as_json)))
    except SandboxMissingError as e:
        output.stop(str(e))


async def _render_all(
    files: Sequence[str], repo: str, revision: str, *, as_json: bool
) -> output.Exit:
    worst = output.Exit.FINE
    async with InputManifests() as manifests:
        inputs = [one async for one in manifests.each(files)]
        documents = [one for one in inputs if isinstance(one, InputDocument)]
        warn_of_ignored(documents)
        projects, bad = projects_of(documents)
        renderable = (one for one in inputs if isinstance(one, InputError) or not is_project(one))
        for found in (*bad, *renderable):
            try:
                if isinstance(found, InputError):
                    raise found
                one = await rendered(found, manifests, repo, revision)
                refused = complain(one, refusals(one.app, projects, one.objects))
                if as_json:
                    output.line(_line(found, one, refused))
                else:
                    await _show(one.objects, await manifests.sandbox())
            except (InputError, RepositoryError) as e:
                worst = refuse(e, found, as_json=as_json)
    return worst


def warn_of_ignored(documents: Iterable[InputDocument]) -> None:
    for document in documents:
        for why in ignored(document):
            output.warn(why)


class RenderedInput(msgspec.Struct, frozen=True):
    app: Application
    objects: Sequence[dict[str, Any]]


async def rendered(
    document: InputDocument, manifests: InputManifests, repo: str, revision: str
) -> RenderedInput:
    """Render one Application; raises InputError or RepositoryError."""
    application = read_app(document)
    sandbox = await manifests.sandbox()
    async with files_of(application, repo, revision, SandboxVersions(sandbox)) as files:
        objects = await render(application, files, sandbox)
    if not objects:
        paths = " and ".join(one.path or "the root" for one in application.sources if one.renders)
        output.complain(f"{application.key}: {paths} holds no manifests")
    return RenderedInput(application, objects)


def complain(one: RenderedInput, found: ProjectRefusals | None) -> Sequence[str]:
    """Print and return what the agent would refuse; the caller decides if it is an error."""
    refused = found.all if found is not None else []
    for why in refused:
        output.complain(f"{one.app.key}: the agent would refuse this: {why}")
    return refused


def _line(document: InputDocument, one: RenderedInput, refused: Sequence[str]) -> dict[str, object]:
    return {
        "file": document.file,
        "document": document.number,
        "application": str(one.app.key),
        "objects": one.objects,
        "refusals": refused,
        "warnings": ignored(document),
    }


async def _show(objects: Sequence[dict[str, Any]], sandbox: Sandbox) -> None:
    for one in objects:
        output.text(f"---\n{await _yaml(one, sandbox)}")


async def _yaml(manifest: dict[str, Any], sandbox: Sandbox) -> str:
    """Write objects as YAML by the sandbox, as Kubernetes tools write it."""
    body = msgspec.json.encode(manifest)
    try:
        answer = await sandbox.evaluate("gotemplate", {"templates": ["{{ toYaml . }}"]}, body)
    except SandboxError as e:
        raise InputError(e.message) from e
    texts: list[str] = msgspec.json.decode(answer)
    return texts[0].rstrip()
