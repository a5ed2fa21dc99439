"""What an AppProject permits: sources, destinations and kinds, by Argo CD's rules. Pure.

A leading `!` denies, and one matching denial outweighs every allowance. Nothing is permitted that
no rule allows, with one exception that users rely on: namespaced kinds, where no list is written.
Addresses are compared in their canonical form on both sides; one that has none is not permitted.
The project `default`, as Argo CD makes it at installation, permits everything.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from bus.repository_url import RepositoryUrl, RepositoryUrlError
from handlers.application.address_pattern import any_denied, any_matches, matches
from handlers.application.application import (
    AppProject,
    AppProjectSpec,
    GroupKindRule,
    Metadata,
    ProjectDestination,
)
from handlers.application.destination import (
    DestinationCluster,
    DestinationError,
    RegisteredCluster,
)
from handlers.application.source_address import OCI_SCHEME, SourceAddress
from handlers.application.source_namespaces import namespace_matches
from handlers.application.spec import Destination, Source

_ANY = "*"


class ServedKind(Protocol):
    """What the rules need to know of a kind."""

    @property
    def group(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def namespaced(self) -> bool: ...


def source_permitted(project: AppProject, source: Source) -> bool:
    """Whether the project permits the source's repository; of a chart, the one that has it.

    A denial counts also where it names the chart itself: `registry.example` with the chart
    `team-b/web`, and `registry.example/team-b` with `web`, are one place of a registry.
    """
    try:
        address = SourceAddress.of(source)
    except RepositoryUrlError:
        return False
    rules = project.spec.source_repos
    places = address.places
    if any(
        rule.startswith("!") and any_denied(form, place.identities, "/")
        for rule in rules
        for place in places
        for form in address_forms(rule, place)
    ):
        return False
    return any(
        rule == _ANY or any_matches(form, address.url.identities, "/")
        for rule in rules
        for form in address_forms(rule, address.url)
    )


def address_forms(rule: str, url: RepositoryUrl) -> Iterable[str]:
    """List the forms of a rule: one without a scheme is one of a registry too, where that is."""
    yield rule
    if url.origin.scheme == OCI_SCHEME and "://" not in rule:
        denial = "!" if rule.startswith("!") else ""
        yield f"{denial}{OCI_SCHEME}://{rule.removeprefix('!')}"


def destination_permitted(
    project: AppProject, destination: Destination, cluster: DestinationCluster | None = None
) -> bool:
    """Whether anything may be deployed to this server (or name) and namespace.

    `cluster` has all identities of the destination, where they are known.
    """
    try:
        cluster = cluster or DestinationCluster.of(destination)
    except DestinationError:
        return False
    rules = project.spec.destinations
    if any(_denies(rule, cluster, destination.namespace) for rule in rules):
        return False
    return any(_allows(rule, cluster, destination.namespace) for rule in rules)


def cluster_problem(project: AppProject, registered: RegisteredCluster) -> str:
    """Why the project may not use a cluster of another project; empty where it may."""
    name, cluster = project.metadata.name, registered.cluster
    if registered.project not in ("", name):
        return (
            f"the cluster {cluster.name!r} ({cluster.server}) belongs to the AppProject "
            f"{registered.project!r} (field `project` of its Secret) and not to {name!r}"
        )
    if project.spec.permit_only_project_scoped_clusters and registered.project != name:
        return (
            f"the AppProject {name!r} permits only clusters of its own "
            f"(spec.permitOnlyProjectScopedClusters), and the cluster {cluster.name!r} "
            f"({cluster.server}) is none: its Secret needs `project: {name}`"
        )
    return ""


def permitted(
    project: AppProject,
    kind: ServedKind,
    *,
    name: str,
    destination: Destination,
    cluster: DestinationCluster | None = None,
) -> bool:
    """Whether an object may be applied or removed; `destination.namespace` is the object's own."""
    spec = project.spec
    if not kind.namespaced:
        allowed = listed(spec.cluster_resource_whitelist, kind, name)
        return allowed and not denied(spec.cluster_resource_blacklist, kind, name)
    return namespaced_permitted(project, kind, name) and destination_permitted(
        project, destination, cluster
    )


def namespaced_permitted(project: AppProject, kind: ServedKind, name: str) -> bool:
    """Whether objects of the namespaced kind are permitted, in whichever namespace that is."""
    allow = project.spec.namespace_resource_whitelist
    if allow is not None and not listed(allow, kind, name):
        return False
    return not denied(project.spec.namespace_resource_blacklist, kind, name)


def has_named_rules(project: AppProject) -> bool:
    """Whether a rule about kinds names objects, so that two of one kind may be judged apart."""
    spec = project.spec
    rules = (
        *(spec.namespace_resource_whitelist or ()),
        *spec.namespace_resource_blacklist,
        *spec.cluster_resource_whitelist,
        *spec.cluster_resource_blacklist,
    )
    return any(one.name for one in rules)


def admits(project: AppProject, app_namespace: str) -> bool:
    """Whether Applications of this namespace may use the project; its own namespace always may."""
    home = project.metadata.namespace
    if not home or app_namespace == home:
        return True
    return any(namespace_matches(one, app_namespace) for one in project.spec.source_namespaces)


def _is_denial(rule: ProjectDestination) -> bool:
    return any(text.startswith("!") for text in (rule.server, rule.name, rule.namespace))


def _denies(rule: ProjectDestination, cluster: DestinationCluster, namespace: str) -> bool:
    """Whether the rule denies the destination.

    A `!` before the cluster denies it for matching namespaces, and one before the namespace denies
    that namespace for matching clusters.
    """
    if not _is_denial(rule):
        return False
    places = [text for text in (rule.server, rule.name) if text]
    marked = [text for text in places if text.startswith("!")]
    return any(any_denied(text, cluster.identities) for text in marked or places) and matches(
        rule.namespace.removeprefix("!"), namespace
    )


def _allows(rule: ProjectDestination, cluster: DestinationCluster, namespace: str) -> bool:
    if _is_denial(rule) or not matches(rule.namespace, namespace):
        return False
    places = (text for text in (rule.server, rule.name) if text)
    return any(any_matches(text, cluster.identities) for text in places)


def listed(rules: Iterable[GroupKindRule], kind: ServedKind, name: str) -> bool:
    return any(
        matches(rule.group, kind.group)
        and matches(rule.kind, kind.kind)
        and (not rule.name or matches(rule.name, name))
        for rule in rules
    )


def denied(rules: Iterable[GroupKindRule], kind: ServedKind, name: str) -> bool:
    """As `listed`; a hook whose name is still to be generated could get any name that is denied."""
    if name:
        return listed(rules, kind, name)
    return any(matches(rule.group, kind.group) and matches(rule.kind, kind.kind) for rule in rules)


DEFAULT_PROJECT = AppProject(
    metadata=Metadata(name="default"),
    spec=AppProjectSpec(
        source_repos=("*",),
        destinations=(ProjectDestination(server="*", namespace="*"),),
        cluster_resource_whitelist=(GroupKindRule(group="*", kind="*"),),
    ),
)
