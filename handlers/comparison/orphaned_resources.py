"""Orphaned resources: objects in the namespace of an Application that no application has. Pure.

An AppProject asks for them with `orphanedResources`; `warn` makes a condition of them, and `ignore`
leaves some out, by globs of group and kind, and by name. Only objects without an owner count, and
not those that Kubernetes makes of itself in every namespace, or of another object without saying
so: Endpoints of a Service, PersistentVolumeClaims of a StatefulSet, events and leases. Whoever may
write an Application may name any namespace in it, so only objects that the project permits it are
looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from bus.identity import ResourceKey
from handlers.application.address_pattern import matches
from handlers.application.application import Application, AppProject
from handlers.application.denials import ProjectKind
from handlers.application.destination import RegisteredCluster
from handlers.application.project import (
    admits,
    cluster_problem,
    destination_permitted,
    namespaced_permitted,
)
from handlers.manifest.kinds import GroupKind
from handlers.ports import LiveObject

_OF_KUBERNETES = frozenset(
    {
        ("", "ServiceAccount", "default"),
        ("", "ConfigMap", "kube-root-ca.crt"),
    }
)
_API_SERVER = frozenset(
    {
        ResourceKey("", "Service", "default", "kubernetes"),
        ResourceKey("", "Endpoints", "default", "kubernetes"),
        ResourceKey("discovery.k8s.io", "EndpointSlice", "default", "kubernetes"),
    }
)
_NOBODYS = frozenset(
    {
        GroupKind("", "Event"),
        GroupKind("events.k8s.io", "Event"),
        GroupKind("coordination.k8s.io", "Lease"),
    }
)


def is_monitored(project: AppProject | None) -> bool:
    return project is not None and project.spec.orphaned_resources is not None


def looks_at(app: Application, project: AppProject | None, registered: RegisteredCluster) -> bool:
    """Whether the project asks for orphaned resources, and permits the Application its namespace.

    `registered` is the cluster of the destination.
    """
    space = app.spec.destination.namespace
    if project is None or not is_monitored(project) or not space:
        return False
    return (
        admits(project, app.key.namespace)
        and not cluster_problem(project, registered)
        and (not registered.namespaces or space in registered.namespaces)
        and destination_permitted(project, app.spec.destination, registered.cluster)
    )


def warns(project: AppProject | None) -> bool:
    """Whether orphaned resources are a condition; as in Argo CD not where nothing says so."""
    rules = project.spec.orphaned_resources if project is not None else None
    return rules is not None and rules.get("warn") is True


def orphans(
    project: AppProject | None,
    roots: Iterable[LiveObject],
    known: Collection[ResourceKey],
    exists: Callable[[str], bool],
) -> tuple[ResourceKey, ...]:
    """Find the orphaned among the objects of a namespace that have no owner, sorted.

    `known` are the objects of the Application itself, `exists` tells of the identity of another.
    An object of an Application that is gone is an orphan.
    """
    rules = project.spec.orphaned_resources if project is not None else None
    if project is None or rules is None:
        return ()
    here = {one.key: one for one in roots}
    ignored = [one for one in rules.get("ignore") or () if isinstance(one, Mapping)]
    return tuple(
        sorted(
            key
            for key, live in here.items()
            if key not in known
            and not (live.application and exists(live.application))
            and namespaced_permitted(project, _kind(key), key.name)
            and not is_made_by_kubernetes(key, here)
            and not any(_ignores(rule, key) for rule in ignored)
        )
    )


def _kind(key: ResourceKey) -> ProjectKind:
    return ProjectKind(key.group, key.kind, namespaced=True)


def is_made_by_kubernetes(key: ResourceKey, here: Collection[ResourceKey]) -> bool:
    """Tell what has no owner though nobody wrote it; `here` are the objects of the namespace."""
    if key in _API_SERVER or (key.group, key.kind, key.name) in _OF_KUBERNETES:
        return True
    if GroupKind(key.group, key.kind) in _NOBODYS:
        return True
    if (key.group, key.kind) == ("", "Endpoints"):
        return ResourceKey("", "Service", key.namespace, key.name) in here
    if (key.group, key.kind) == ("", "PersistentVolumeClaim"):
        sets = _possible_sets(key.name)
        return any(ResourceKey("apps", "StatefulSet", key.namespace, one) in here for one in sets)
    return False


def _possible_sets(claim: str) -> Iterator[str]:
    """Name the StatefulSets whose claim it may be: `<template>-<set>-<number>`.

    They are as many as the name has dashes: a namespace may have thousands of claims and of sets.
    """
    template, _, number = claim.rpartition("-")
    if not (number.isascii() and number.isdecimal()):
        return
    words = template.split("-")
    for first in range(1, len(words)):
        if "-".join(words[:first]):
            yield "-".join(words[first:])


def _ignores(rule: Mapping[str, Any], key: ResourceKey) -> bool:
    """An entry without a name means any; group and kind have to match."""
    group, kind, name = (rule.get(field) or "" for field in ("group", "kind", "name"))
    if not all(isinstance(one, str) for one in (group, kind, name)):
        return False
    same = matches(group, key.group) and matches(kind, key.kind)
    return same and (not name or matches(name, key.name))
