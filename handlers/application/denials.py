"""Denials: why a project does not permit an object, in a sentence with the remedy. Pure.

A denied object is not tried again until the sentence changes (see `sync/denied_syncs`). So the
sentence says what to change, and two different reasons give two different sentences.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from msgspec.structs import replace

from bus.identity import ResourceKey
from handlers.application.application import Application, AppProject
from handlers.application.destination import DestinationCluster, RegisteredCluster
from handlers.application.project import (
    ServedKind,
    admits,
    cluster_problem,
    denied,
    has_named_rules,
    listed,
    permitted,
)
from handlers.application.spec import Destination

NOT_PERMITTED = "is not permitted here"


class ProjectKind(NamedTuple):
    """A kind as the project's rules see it."""

    group: str
    kind: str
    namespaced: bool


def denial(
    project: AppProject,
    kind: ServedKind,
    *,
    name: str,
    destination: Destination,
    cluster: DestinationCluster | None = None,
) -> str:
    """Say why an object is denied; empty where it is permitted.

    `destination.namespace` is the namespace of the object itself.
    """
    if permitted(project, kind, name=name, destination=destination, cluster=cluster):
        return ""
    remedy = " and ".join(_remedies(project, kind, name, destination))
    return f"{_what(kind)} {NOT_PERMITTED} by the AppProject {_named(project)}: {remedy}"


def _named(project: AppProject) -> str:
    """Name the project, and those whose rules are part of it: the remedy may lie there."""
    shared = " and ".join(map(repr, project.global_projects))
    return f"{project.metadata.name!r}" + (f" with its global {shared}" if shared else "")


def denial_of(
    project: AppProject,
    key: ResourceKey,
    target: Destination,
    cluster: DestinationCluster | None = None,
) -> str:
    """Judge one object of an application with destination `target`, by its own namespace."""
    kind = ProjectKind(key.group, key.kind, bool(key.namespace))
    destination = replace(target, namespace=key.namespace)
    return denial(project, kind, name=key.name, destination=destination, cluster=cluster)


def denials(
    app: Application,
    project: AppProject | None,
    keys: Iterable[ResourceKey],
    registered: RegisteredCluster | None = None,
) -> dict[ResourceKey, str]:
    """The objects that the application may neither apply nor remove; all without a project.

    `registered` has all identities of the destination: a denial by one of them holds for all.
    """
    if project is None:
        return dict.fromkeys(keys, no_project(app.spec.project))
    if not admits(project, app.key.namespace):
        return dict.fromkeys(keys, f"it {NOT_PERMITTED}: {not_admitted(project, app)}")
    if registered is not None and (problem := cluster_problem(project, registered)):
        return dict.fromkeys(keys, f"it {NOT_PERMITTED}: {problem}")
    cluster = registered.cluster if registered else None
    named = has_named_rules(project)

    @cache
    def judged(group: str, kind: str, namespace: str, name: str) -> str:
        key = ResourceKey(group, kind, namespace, name)
        return denial_of(project, key, app.spec.destination, cluster)

    found = (
        (key, _beyond(registered, key) or judged(*key.place, key.name if named else ""))
        for key in keys
    )
    return {key: why for key, why in found if why}


def _beyond(registered: RegisteredCluster | None, key: ResourceKey) -> str:
    """Why an object is beyond what the agent may manage in the cluster, by the cluster's Secret."""
    if registered is None or not registered.namespaces:
        return ""
    place = f"the cluster {registered.cluster.name!r}"
    if key.namespace:
        if key.namespace in registered.namespaces:
            return ""
        remedy = f"add {key.namespace!r} to `namespaces` of the Secret of {place}"
    elif registered.cluster_resources:
        return ""
    else:
        remedy = f"the Secret of {place} needs `clusterResources: true` for it"
    return f"{key.kind} {key.name} {NOT_PERMITTED}: {remedy}"


def no_project(name: str) -> str:
    return f"it {NOT_PERMITTED}: the AppProject {name!r} does not exist"


def not_admitted(project: AppProject, app: Application) -> str:
    return (
        f"the AppProject {project.metadata.name!r} does not admit applications of namespace "
        f"{app.key.namespace!r}; add it to spec.sourceNamespaces of the project"
    )


def _remedies(
    project: AppProject, kind: ServedKind, name: str, destination: Destination
) -> Iterator[str]:
    spec = project.spec
    if not kind.namespaced:
        if not listed(spec.cluster_resource_whitelist, kind, name):
            yield "add it to spec.clusterResourceWhitelist"
        if denied(spec.cluster_resource_blacklist, kind, name):
            yield "remove it from spec.clusterResourceBlacklist"
        return
    allow = spec.namespace_resource_whitelist
    if allow is not None and not listed(allow, kind, name):
        yield "add it to spec.namespaceResourceWhitelist"
    elif denied(spec.namespace_resource_blacklist, kind, name):
        yield "remove it from spec.namespaceResourceBlacklist"
    else:
        where = destination.server or destination.name
        yield f"let spec.destinations allow namespace {destination.namespace!r} of {where}"


def _what(kind: ServedKind) -> str:
    return f"{kind.kind} of {kind.group}" if kind.group else kind.kind
