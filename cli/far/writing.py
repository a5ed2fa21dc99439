"""Argo CD's objects of a file, created or replaced in a cluster by way of its agent.

The cluster is the truth and the agent writes it: the answer is a task each, as for every command.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

import typer

from cli import say
from cli.far import calling, find, ordering
from cli.far.client import Far
from cli.far.errors import NotFoundError
from cli.far.misspelt import misspelt
from cli.inputs import InputError
from cli.manifest_files import Manifest, read_manifests

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


async def create(
    far: Far, kind: Kind, given: Write, manifests: Sequence[Mapping[str, Any]]
) -> say.Exit:
    """Refused by the agent where one is there already."""
    agent = await find.one_agent(far, given.agent)
    tasks = [await _created(far, kind, agent.id, it) for it in manifests]
    return await ordering.told(far, tasks, given, kind.change("created"))


async def apply(
    far: Far, kind: Kind, given: Write, manifests: Sequence[Mapping[str, Any]]
) -> say.Exit:
    """Created, or replaced whoever changed it since."""
    agent = await find.one_agent(far, given.agent)
    tasks = []
    for it in manifests:
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


def read(kind: Kind, file: str) -> list[dict[str, Any]]:
    """All of them, or the end of the command before anything is asked of the service."""
    try:
        return [_manifest(kind, it) for it in read_manifests(file)]
    except InputError as e:
        say.stop(str(e))


def _manifest(kind: Kind, it: Manifest) -> dict[str, Any]:
    """What a writer may say: the rest of the metadata, and the status, are the cluster's."""
    metadata, spec = it.body.get("metadata"), it.body.get("spec")
    if it.body["kind"] != kind.name or not isinstance(spec, dict):
        raise InputError(f"{it.place}: expected an {kind.name} with its spec")
    if not isinstance(metadata, dict) or not metadata.get("name"):
        raise InputError(f"{it.place}: metadata.name is missing")
    if problems := list(misspelt(kind.name, it.body)):
        raise InputError(f"{it.place}: {'; '.join(problems)}")
    said = {name: metadata[name] for name in _KEPT if metadata.get(name)}
    if "annotations" in said:
        said["annotations"] = {k: v for k, v in said["annotations"].items() if k != _KUBECTL}
    plain = {name: it.body[name] for name in ("apiVersion", "kind")}
    return {**plain, "metadata": said, "spec": spec}
