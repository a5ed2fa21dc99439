"""What an AppProject permits: sources, destinations, kinds of objects. Argo CD's rules of matching.

A leading `!` denies, and one matching denial outweighs every allowance. Nothing is permitted that
no rule allows, with one exception that users rely on: namespaced kinds, where no list is written.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from bus.identity import normalise_url
from handlers.application.application import AppProject, GroupKindRule, ProjectDestination
from handlers.application.globs import matches
from handlers.application.spec import Destination

IN_CLUSTER_SERVER = "https://kubernetes.default.svc"
IN_CLUSTER_NAME = "in-cluster"


class ServedKind(Protocol):
    """What the rules need to know of a kind."""

    @property
    def group(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def namespaced(self) -> bool: ...


def source_permitted(project: AppProject, url: str) -> bool:
    wanted = normalise_url(url)
    allowed = False
    for rule in project.spec.source_repos:
        denies = rule.startswith("!")
        if not _url_matches(rule.removeprefix("!"), wanted):
            continue
        if denies:
            return False
        allowed = True
    return allowed


def destination_permitted(project: AppProject, destination: Destination) -> bool:
    """Whether anything may be deployed to this server (or name) and namespace."""
    rules = project.spec.destinations
    if any(_denies(rule, destination) for rule in rules):
        return False
    return any(_allows(rule, destination) for rule in rules)


def permitted(
    project: AppProject, kind: ServedKind, *, name: str, destination: Destination
) -> bool:
    """Whether an object may be applied or removed; `destination.namespace` is the object's own."""
    spec = project.spec
    if not kind.namespaced:
        allowed = listed(spec.cluster_resource_whitelist, kind, name)
        return allowed and not listed(spec.cluster_resource_blacklist, kind, name)
    allow = spec.namespace_resource_whitelist
    if allow is not None and not listed(allow, kind, name):
        return False
    if listed(spec.namespace_resource_blacklist, kind, name):
        return False
    return destination_permitted(project, destination)


def admits(project: AppProject, app_namespace: str) -> bool:
    """Whether Applications of this namespace may use the project; its own namespace always may."""
    home = project.metadata.namespace
    if not home or app_namespace == home:
        return True
    return any(matches(rule, app_namespace) for rule in project.spec.source_namespaces)


def _url_matches(rule: str, wanted: str) -> bool:
    return rule == "*" or matches(normalise_url(rule), wanted, "/")


def _denies(rule: ProjectDestination, wanted: Destination) -> bool:
    """A `!` before the cluster denies it for the namespaces that match, and the other way round."""
    place, space = _place(rule), rule.namespace
    if place.startswith("!"):
        return _place_matches(rule, wanted) and matches(space, wanted.namespace)
    if space.startswith("!"):
        return _place_matches(rule, wanted) and matches(space[1:], wanted.namespace)
    return False


def _allows(rule: ProjectDestination, wanted: Destination) -> bool:
    if _place(rule).startswith("!") or rule.namespace.startswith("!"):
        return False
    return _place_matches(rule, wanted) and matches(rule.namespace, wanted.namespace)


def _place(rule: ProjectDestination) -> str:
    return rule.server or rule.name


def _place_matches(rule: ProjectDestination, wanted: Destination) -> bool:
    server, name = _both_names(wanted)
    if rule.server and server and matches(rule.server.removeprefix("!"), server):
        return True
    return bool(rule.name and name and matches(rule.name.removeprefix("!"), name))


def _both_names(wanted: Destination) -> tuple[str, str]:
    """The cluster we run in has two names, and a rule may use either."""
    if wanted.server == IN_CLUSTER_SERVER or wanted.name == IN_CLUSTER_NAME:
        return IN_CLUSTER_SERVER, IN_CLUSTER_NAME
    return wanted.server, wanted.name


def listed(rules: Iterable[GroupKindRule], kind: ServedKind, name: str) -> bool:
    return any(
        matches(rule.group, kind.group)
        and matches(rule.kind, kind.kind)
        and (not rule.name or matches(rule.name, name))
        for rule in rules
    )
