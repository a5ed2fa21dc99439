"""Governance: for which objects the owner's policy holds, and which of them it denies.

    every application        nothing in the control namespace but kinds that the agent's owner
                             names, and never the policy itself nor the agent's own keys
    governed applications    besides: what the policy says of cluster, namespace, scope and kind

Another cluster has no control namespace of this agent, so the first line does not hold there; it
does wherever a destination may be the agent's own cluster under another address.

An application is governed where it, its AppProject, or an application that deploys one of them is
marked. The mark is an annotation, written in the same request that puts the object over the link.
Its presence counts, whatever its value. The link cannot remove the mark (a put writes it again),
nor can Git: a marked object keeps it with every apply. A person with access to the cluster can.
Everything is answered from memory, without I/O.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bus.identity import AppKey, ResourceKey
from bus.link import OBJECT_KINDS
from handlers.application.application import Application, AppProject, Metadata
from handlers.application.denials import NOT_PERMITTED
from handlers.application.spec import Operation
from handlers.control_plane.policy import CONFIG_MAP, ControlPlanePolicy
from handlers.manifest.access import Manifest, mapping
from handlers.manifest.tracking import app_of
from handlers.manifest.tracking_method import Tracking
from handlers.ports import ApplicationLookup, Clusters, DestinationSession

_DEEPEST = 20
_WHY_HELD = " (the application, its project or what deploys it came or was changed over the link)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Governance:
    apps: ApplicationLookup
    clusters: Clusters
    policy: Callable[[], ControlPlanePolicy]
    control_namespace: str
    own_secrets: frozenset[str]
    """Secrets of the control namespace that hold the agent's own keys and logins."""
    control_kinds: frozenset[str] = frozenset()
    """Kinds that applications may bring into the control namespace; `*` is all.

    The owner's policy and the agent's own Secrets are none of them, whatever it says.
    """
    tracking: Callable[[], Tracking] = Tracking

    # --- governed ---------------------------------------------------------------------------------

    def governs(self, app: Application) -> bool:
        project = self.apps.project(app.spec.project)
        return self._leads_to_mark(app.metadata) or (
            project is not None and self._leads_to_mark(project.metadata)
        )

    def governs_project(self, project: AppProject) -> bool:
        """Whether the project, or an application that deploys it, came over the link."""
        return self._leads_to_mark(project.metadata)

    def _leads_to_mark(self, metadata: Metadata) -> bool:
        """Whether the object is marked, or an application in the chain that deploys it."""
        level: tuple[Metadata, ...] = (metadata,)
        for _ in range(_DEEPEST):
            if any(map(is_marked, level)):
                return True
            level = tuple({one.key: one.metadata for one in self._parents(level)}.values())
            if not level:
                return False
        return True  # a chain without an end is a circle: the stricter answer is the safe one

    def _parents(self, level: Iterable[Metadata]) -> Iterator[Application]:
        """Find the applications that deploy one of these, by every mark that they may carry."""
        tracking = self.tracking()
        for one in level:
            for identity in tracking.parents(one.labels, one.annotations):
                parent = self.apps.get(app_of(identity, self.control_namespace))
                if parent is not None and parent.metadata != one:
                    yield parent

    # --- denied ----------------------------------------------------------------------------------

    def denials(self, app: Application, keys: Iterable[ResourceKey]) -> dict[ResourceKey, str]:
        """The objects that the application may neither apply nor remove, and why."""
        return self._denials(app, keys, governed=self.governs(app))

    def control_plane_denials(
        self, app: Application, keys: Iterable[ResourceKey]
    ) -> dict[ResourceKey, str]:
        """The objects that the control plane may neither apply nor remove.

        Both raise DestinationUnknownError and DestinationUnavailableError.
        """
        return self._denials(app, keys, governed=True)

    def _denials(
        self, app: Application, keys: Iterable[ResourceKey], *, governed: bool
    ) -> dict[ResourceKey, str]:
        session = self.clusters.of(app.spec.destination)
        found = {key: self._denial(session, key, governed=governed) for key in keys}
        return {key: why for key, why in found.items() if why}

    def creates_namespace(self, app: Application, operation: Operation | None, name: str) -> bool:
        """Whether an operation may create the Namespace of the destination."""
        held = self.governs(app) or is_from_control_plane(operation)
        return self.may_create_namespace(app, name) if held else True

    def may_create_namespace(self, app: Application, name: str) -> bool:
        """Whether the control plane may create a Namespace: where it may write in it."""
        session, policy = self.clusters.of(app.spec.destination), self.policy()
        if policy.cluster_problem(session.cluster):
            return False
        is_control = session.may_be_own and name == self.control_namespace
        return not is_control and policy.creates_namespace(name)

    def window_override_problem(self, app: Application) -> str:
        """Why no operation of the application may pass a closed sync window; empty where one may.

        The reason stands in the Application, so whoever may write Applications may write it. In the
        control namespace those are the cluster's administrators; elsewhere they are the ones whom
        the windows of the project are meant to bind.
        """
        if app.key.namespace != self.control_namespace:
            return (
                f"{app.key} is not in {self.control_namespace}: an Application of another namespace"
                " passes no closed sync window; change the window in the AppProject instead"
            )
        return self.policy().window_override_problem()

    def hidden(self, key: ResourceKey) -> bool:
        """Whether the control plane may not look at the object."""
        return not self.policy().reaches(key.namespace)

    def _denial(self, session: DestinationSession, key: ResourceKey, *, governed: bool) -> str:
        if session.may_be_own and self._is_own(key) and not self._may_come(key):
            return _message(
                key,
                f"namespace {self.control_namespace!r} is the agent's own and no destination;"
                f" its owner may name the kind in GITOPS_CONTROL_NAMESPACE_KINDS",
            )
        if not governed:
            return ""
        served = session.live.kind(key.group, key.kind)
        namespaced = served.namespaced if served else bool(key.namespace)
        policy = self.policy()
        problem = policy.cluster_problem(session.cluster) or policy.object_problem(
            key, namespaced=namespaced
        )
        return _message(key, f"{problem}{_WHY_HELD}") if problem else ""

    def _is_own(self, key: ResourceKey) -> bool:
        is_namespace = (key.group, key.kind, key.name) == ("", "Namespace", self.control_namespace)
        return key.namespace == self.control_namespace or is_namespace

    def _may_come(self, key: ResourceKey) -> bool:
        is_policy = (key.group, key.kind, key.name) == ("", "ConfigMap", CONFIG_MAP)
        if is_policy or ((key.group, key.kind) == ("", "Secret") and key.name in self.own_secrets):
            return False
        return bool({"*", key.kind} & self.control_kinds)

    # --- the mark -----------------------------------------------------------------------------

    def sent(self, app: Application, key: ResourceKey, manifest: Manifest) -> Manifest:
        """The manifest to apply: Applications and AppProjects keep or inherit the mark.

        Their status is the agent's own record: what Git has of it is left out, and so is the
        override of a sync window, which a person gives once.
        """
        if not is_ours(key):
            return manifest
        if "status" in manifest:
            manifest = {name: value for name, value in manifest.items() if name != "status"}
        manifest = _without_override(manifest)
        return marked(manifest) if self.governs(app) or self._has_mark(key) else manifest

    def _has_mark(self, key: ResourceKey) -> bool:
        live: Application | AppProject | None = (
            self.apps.get(AppKey(key.namespace, key.name))
            if key.kind == "Application"
            else self.apps.project(key.name)
        )
        return live is not None and is_marked(live.metadata)


def is_from_control_plane(operation: Operation | None) -> bool:
    info = operation.info if operation is not None else ()
    return any(one.get("name") == FROM_CONTROL_PLANE for one in info)


def named(denials: Mapping[ResourceKey, str], most: int = 5) -> str:
    """The first of the denials in words, and how many more there are."""
    first = [denials[key] for key in sorted(denials)[:most]]
    more = len(denials) - len(first)
    return "; ".join((*first, f"and {more} more") if more else first)


def _without_override(manifest: Manifest) -> Manifest:
    """Leave out what would let an operation that a commit asks for pass a closed sync window."""
    operation = mapping(manifest, "operation")
    info = operation.get("info")
    if not isinstance(info, list):
        return manifest
    kept = [one for one in info if mapping(one).get("name") != OVERRIDE_WINDOW]
    return {**manifest, "operation": {**operation, "info": kept}} if kept != info else manifest


def _message(key: ResourceKey, why: str) -> str:
    place = f"{key.namespace}/{key.name}" if key.namespace else key.name
    return f"{key.kind} {place} {NOT_PERMITTED}: {why}"


GOVERNED = "plumbline.dev/governed-by"
"""The annotation; its value names the ConfigMap with the policy."""
FROM_CONTROL_PLANE = "fromControlPlane"
"""The name in `operation.info` of an operation that came over the link."""
OVERRIDE_WINDOW = "overrideWindow"
"""The name in `operation.info` of why an operation passes a closed sync window."""
ARGO_GROUP = "argoproj.io"
OBJECTS_OF_THE_AGENT = frozenset(kind.name for kind in OBJECT_KINDS if kind.resource)
"""The kinds that tell the agent what to do; Git brings them where the owner allows it."""
_VALUE = "gitops-agent-limits"


def is_marked(metadata: Metadata) -> bool:
    return GOVERNED in metadata.annotations


def marked(manifest: Manifest) -> dict[str, Any]:
    """A copy of `manifest` with the mark."""
    metadata = mapping(manifest, "metadata")
    annotations: Mapping[str, Any] = {**mapping(metadata, "annotations"), GOVERNED: _VALUE}
    return {**manifest, "metadata": {**metadata, "annotations": annotations}}


def is_ours(key: ResourceKey) -> bool:
    """Whether the object is one that tells the agent what to do."""
    return key.group == ARGO_GROUP and key.kind in OBJECTS_OF_THE_AGENT
