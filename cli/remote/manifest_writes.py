"""Writes of Argo CD's objects from a file, carried out by the agent of the cluster.

The cluster is the truth and the agent writes it: the answer is a task each, as for every command.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

import typer

from cli import output
from cli.local.inputs import InputError
from cli.local.manifest_files import FileManifest, read_manifests
from cli.remote import command_runner, find, task_client
from cli.remote.errors import ServiceNotFoundError
from cli.remote.service_client import ServiceClient
from handlers.application.unknown_fields import unknown_fields

_KEPT = ("name", "namespace", "labels", "annotations", "finalizers")
_KUBECTL = "kubectl.kubernetes.io/last-applied-configuration"
_HOME = "argocd"

FileOption = Annotated[
    str, typer.Option("--file", "-f", help="Objects as YAML or JSON; `-` reads stdin.")
]
InAgentOption = Annotated[
    str, typer.Option("--agent", help="Whose cluster; may be left out where the service has one.")
]


class NamedObject(Protocol):
    @property
    def id(self) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenKind:
    """A kind that can be written: its `noun` in the REST API, its `word`, and how to `find` one."""

    name: str
    noun: str
    word: str
    find: Callable[[ServiceClient, str], Awaitable[NamedObject]]

    def change(self, participle: str) -> task_client.ChangeRequest:
        return task_client.ChangeRequest(noun=self.word, participle=participle)


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestWrite:
    """The options of both verbs."""

    file: FileOption
    agent: InAgentOption = ""
    wait: task_client.WaitOption = False
    timeout: command_runner.TimeoutOption = "5m"
    context: command_runner.ContextOption = ""
    as_json: command_runner.JsonOption = False


async def create(
    client: ServiceClient,
    kind: WrittenKind,
    options: ManifestWrite,
    manifests: Sequence[Mapping[str, Any]],
) -> output.Exit:
    """Create the objects; the agent refuses one that exists."""
    agent = await find.one_agent(client, options.agent)
    tasks = [await _created(client, kind, agent.id, it) for it in manifests]
    return await task_client.wait_for_task(client, tasks, options, kind.change("created"))


async def apply(
    client: ServiceClient,
    kind: WrittenKind,
    options: ManifestWrite,
    manifests: Sequence[Mapping[str, Any]],
) -> output.Exit:
    """Create the objects, or replace them whoever changed them since."""
    agent = await find.one_agent(client, options.agent)
    tasks = []
    for it in manifests:
        metadata = it["metadata"]
        name = f"{agent.name}/{metadata.get('namespace') or _HOME}/{metadata['name']}"
        try:
            path = find.path(kind.noun, (await kind.find(client, name)).id)
        except ServiceNotFoundError:
            tasks.append(await _created(client, kind, agent.id, it))
        else:
            tasks.append(await task_client.submit_task(client, path, {"manifest": it}, "PUT"))
    return await task_client.wait_for_task(client, tasks, options, kind.change("applied"))


async def _created(
    client: ServiceClient, kind: WrittenKind, agent: str, manifest: Mapping[str, Any]
) -> dict[str, Any]:
    return await task_client.submit_task(
        client, f"/{kind.noun}", {"agent": agent, "manifest": manifest}
    )


def read(kind: WrittenKind, file: str) -> list[dict[str, Any]]:
    """Read all objects, or end the command before the service is asked."""
    try:
        return [_manifest(kind, it) for it in read_manifests(file)]
    except InputError as e:
        output.stop(str(e))


def _manifest(kind: WrittenKind, it: FileManifest) -> dict[str, Any]:
    """Keep what an author writes: the rest of the metadata and the status belong to the cluster."""
    metadata, spec = it.body.get("metadata"), it.body.get("spec")
    if it.body["kind"] != kind.name or not isinstance(spec, dict):
        raise InputError(f"{it.location}: expected an {kind.name} with its spec")
    if not isinstance(metadata, dict) or not metadata.get("name"):
        raise InputError(f"{it.location}: metadata.name is missing")
    unknown = list(unknown_fields(kind.name, it.body))
    if mistakes := [each.message for each in unknown if each.meant]:
        raise InputError(f"{it.location}: {'; '.join(mistakes)}")
    for each in unknown:
        output.warn(f"{it.location}: {each.message}")
    if it.body.get("operation"):
        output.warn(f"{it.location}: operation is not written; to sync: gitops app sync")
    kept = {name: metadata[name] for name in _KEPT if metadata.get(name)}
    if "annotations" in kept:
        kept["annotations"] = {k: v for k, v in kept["annotations"].items() if k != _KUBECTL}
    plain = {name: it.body[name] for name in ("apiVersion", "kind")}
    return {**plain, "metadata": kept, "spec": spec}
