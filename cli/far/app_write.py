"""`gitops app create|apply|delete`: Applications in a cluster, by way of its agent.

The cluster is the truth and the agent writes it: the answer is a task each, as for every command.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from agent.sandbox.binary import SandboxMissingError
from cli import say
from cli.far import calling, find, ordering
from cli.far.client import Far
from cli.far.errors import FarError, NotFoundError
from cli.far.given import takes
from cli.inputs import Document, InputError, Manifests

app = calling.new_app()

_KEPT = ("name", "namespace", "labels", "annotations", "finalizers")
_KUBECTL = "kubectl.kubernetes.io/last-applied-configuration"

FileOption = Annotated[
    str, typer.Option("--file", "-f", help="Applications as YAML or JSON; `-` reads stdin.")
]
InAgentOption = Annotated[
    str, typer.Option("--agent", help="Whose cluster; may be left out where the service has one.")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    file: FileOption
    agent: InAgentOption = ""
    wait: ordering.WaitOption = False
    timeout: calling.TimeoutOption = "5m"
    context: calling.ContextOption = ""
    as_json: calling.JsonOption = False


@app.command(epilog=ordering.EXITS)
@takes(Write)
def create(given: Write) -> None:
    """Create the Applications of a file; one that is there already is refused."""

    async def work(far: Far) -> say.Exit:
        agent = await find.one_agent(far, given.agent)
        tasks = [await _created(far, agent.id, it) for it in await _read(given.file)]
        return await ordering.told(far, tasks, given)

    calling.call(given.context, work)


@app.command(epilog=ordering.EXITS)
@takes(Write)
def apply(given: Write) -> None:
    """Create the Applications of a file, or replace their spec, labels and annotations."""

    async def work(far: Far) -> say.Exit:
        agent = await find.one_agent(far, given.agent)
        tasks = []
        for it in await _read(given.file):
            metadata = it["metadata"]
            name = f"{agent.name}/{metadata.get('namespace') or 'argocd'}/{metadata['name']}"
            try:
                path = find.path("applications", (await find.application(far, name)).id)
            except NotFoundError:
                tasks.append(await _created(far, agent.id, it))
            else:
                tasks.append(await ordering.ordered(far, path, {"manifest": it}, "PUT"))
        return await ordering.told(far, tasks, given)

    calling.call(given.context, work)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete:
    application: calling.AppArgument
    keep: Annotated[bool, typer.Option("--keep-objects", help="Leave what it deployed.")] = False
    wait: ordering.WaitOption = False
    timeout: calling.TimeoutOption = "5m"
    context: calling.ContextOption = ""
    as_json: calling.JsonOption = False


@app.command(epilog=ordering.EXITS)
@takes(Delete)
def delete(given: Delete) -> None:
    """Delete an Application and what it deployed."""

    async def work(far: Far) -> say.Exit:
        found = await find.application(far, given.application)
        path = f"{find.path('applications', found.id)}?cascade={str(not given.keep).lower()}"
        task = await ordering.ordered(far, path, None, "DELETE")
        return await ordering.told(far, [task], given)

    calling.call(given.context, work)


async def _created(far: Far, agent: str, manifest: Mapping[str, Any]) -> dict[str, Any]:
    return await ordering.ordered(far, "/applications", {"agent": agent, "manifest": manifest})


async def _read(file: str) -> list[dict[str, Any]]:
    """All of them, or a refusal before anything is ordered."""
    try:
        async with Manifests() as manifests:
            return [_manifest(it) for it in await manifests.read(file)]
    except (InputError, SandboxMissingError) as e:
        raise FarError(str(e), say.Exit.BAD_INPUT) from e


def _manifest(it: Document) -> dict[str, Any]:
    """What a writer may say: the rest of the metadata, and the status, are the cluster's."""
    metadata, spec = it.manifest.get("metadata"), it.manifest.get("spec")
    if it.manifest["kind"] != "Application" or not isinstance(spec, dict):
        raise InputError(f"{it.file}, document {it.number}: expected an Application with its spec")
    if not isinstance(metadata, dict) or not metadata.get("name"):
        raise InputError(f"{it.file}, document {it.number}: metadata.name is missing")
    said = {name: metadata[name] for name in _KEPT if metadata.get(name)}
    if "annotations" in said:
        said["annotations"] = {k: v for k, v in said["annotations"].items() if k != _KUBECTL}
    plain = {name: it.manifest[name] for name in ("apiVersion", "kind")}
    return {**plain, "metadata": said, "spec": spec}
