"""Argo CD's objects of a file, created or replaced in a cluster by way of its agent.

The cluster is the truth and the agent writes it: the answer is a task each, as for every command.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

import typer

from agent.sandbox.binary import SandboxMissingError
from cli import say
from cli.far import calling, find, ordering
from cli.far.client import Far
from cli.far.errors import FarError, NotFoundError
from cli.inputs import Document, InputError, Manifests

_KEPT = ("name", "namespace", "labels", "annotations", "finalizers")
_KUBECTL = "kubectl.kubernetes.io/last-applied-configuration"
_HOME = "argocd"

FileOption = Annotated[
    str, typer.Option("--file", "-f", help="Objects as YAML or JSON; `-` reads stdin.")
]
InAgentOption = Annotated[
    str, typer.Option("--agent", help="Whose cluster; may be left out where the service has one.")
]


class Named(Protocol):
    @property
    def id(self) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """`noun`: of the REST API; `word`: for people; `find`: the one with this full name."""

    name: str
    noun: str
    word: str
    find: Callable[[Far, str], Awaitable[Named]]

    def change(self, participle: str) -> ordering.Change:
        return ordering.Change(noun=self.word, participle=participle)


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """The options of both verbs."""

    file: FileOption
    agent: InAgentOption = ""
    wait: ordering.WaitOption = False
    timeout: calling.TimeoutOption = "5m"
    context: calling.ContextOption = ""
    as_json: calling.JsonOption = False


async def create(far: Far, kind: Kind, given: Write) -> say.Exit:
    """Refused by the agent where one is there already."""
    agent = await find.one_agent(far, given.agent)
    tasks = [await _created(far, kind, agent.id, it) for it in await _read(kind, given.file)]
    return await ordering.told(far, tasks, given, kind.change("created"))


async def apply(far: Far, kind: Kind, given: Write) -> say.Exit:
    """Created, or replaced whoever changed it since."""
    agent = await find.one_agent(far, given.agent)
    tasks = []
    for it in await _read(kind, given.file):
        metadata = it["metadata"]
        name = f"{agent.name}/{metadata.get('namespace') or _HOME}/{metadata['name']}"
        try:
            path = find.path(kind.noun, (await kind.find(far, name)).id)
        except NotFoundError:
            tasks.append(await _created(far, kind, agent.id, it))
        else:
            tasks.append(await ordering.ordered(far, path, {"manifest": it}, "PUT"))
    return await ordering.told(far, tasks, given, kind.change("applied"))


async def _created(far: Far, kind: Kind, agent: str, manifest: Mapping[str, Any]) -> dict[str, Any]:
    return await ordering.ordered(far, f"/{kind.noun}", {"agent": agent, "manifest": manifest})


async def _read(kind: Kind, file: str) -> list[dict[str, Any]]:
    """All of them, or a refusal before anything is ordered."""
    try:
        async with Manifests() as manifests:
            return [_manifest(kind, it) for it in await manifests.read(file)]
    except (InputError, SandboxMissingError) as e:
        raise FarError(str(e), say.Exit.BAD_INPUT) from e


def _manifest(kind: Kind, it: Document) -> dict[str, Any]:
    """What a writer may say: the rest of the metadata, and the status, are the cluster's."""
    metadata, spec = it.manifest.get("metadata"), it.manifest.get("spec")
    where = f"{it.file}, document {it.number}"
    if it.manifest["kind"] != kind.name or not isinstance(spec, dict):
        raise InputError(f"{where}: expected an {kind.name} with its spec")
    if not isinstance(metadata, dict) or not metadata.get("name"):
        raise InputError(f"{where}: metadata.name is missing")
    said = {name: metadata[name] for name in _KEPT if metadata.get(name)}
    if "annotations" in said:
        said["annotations"] = {k: v for k, v in said["annotations"].items() if k != _KUBECTL}
    plain = {name: it.manifest[name] for name in ("apiVersion", "kind")}
    return {**plain, "metadata": said, "spec": spec}
