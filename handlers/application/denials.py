"""Why a project does not permit an object: which of its lists stands against it. Pure.

What was denied is not tried again by itself until the project says something else, so the sentence
must say what to change, and two different reasons must be two different sentences.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from msgspec.structs import replace

from bus.identity import ResourceKey
from handlers.application.application import AppProject
from handlers.application.project import ServedKind, listed, permitted
from handlers.application.spec import Destination

NOT_PERMITTED = "is not permitted here"


class Scope(NamedTuple):
    """A kind as the project's rules see it."""

    group: str
    kind: str
    namespaced: bool


def denial(project: AppProject, kind: ServedKind, *, name: str, destination: Destination) -> str:
    """Empty where it is permitted; `destination.namespace` is the object's own."""
    if permitted(project, kind, name=name, destination=destination):
        return ""
    remedy = " and ".join(_remedies(project, kind, name, destination))
    return f"{_what(kind)} {NOT_PERMITTED} by the AppProject {project.metadata.name!r}: {remedy}"


def denial_of(project: AppProject, key: ResourceKey, there: Destination) -> str:
    """`there`: where the application goes; the object's own namespace counts, not its."""
    kind = Scope(key.group, key.kind, bool(key.namespace))
    return denial(project, kind, name=key.name, destination=replace(there, namespace=key.namespace))


def no_project(name: str) -> str:
    return f"it {NOT_PERMITTED}: the AppProject {name!r} does not exist"


def _remedies(
    project: AppProject, kind: ServedKind, name: str, destination: Destination
) -> Iterator[str]:
    spec = project.spec
    if not kind.namespaced:
        if not listed(spec.cluster_resource_whitelist, kind, name):
            yield "add it to spec.clusterResourceWhitelist"
        if listed(spec.cluster_resource_blacklist, kind, name):
            yield "remove it from spec.clusterResourceBlacklist"
        return
    allow = spec.namespace_resource_whitelist
    if allow is not None and not listed(allow, kind, name):
        yield "add it to spec.namespaceResourceWhitelist"
    elif listed(spec.namespace_resource_blacklist, kind, name):
        yield "remove it from spec.namespaceResourceBlacklist"
    else:
        where = destination.server or destination.name
        yield f"let spec.destinations allow namespace {destination.namespace!r} of {where}"


def _what(kind: ServedKind) -> str:
    return f"{kind.kind} of {kind.group}" if kind.group else kind.kind
