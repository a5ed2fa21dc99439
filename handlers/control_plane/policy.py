"""The policy that a cluster's owner sets for the control plane: a ConfigMap as a value. Pure.

The ConfigMap `gitops-agent-limits` of the control namespace is read before anything a task asks
for, and held against every object of an application that came or was changed over the link. The
control plane cannot change or exceed it. Without one the control plane may only look; one that
cannot be understood allows nothing that writes.

    kinds: sync, refresh, tree        tasks that may be done; `*` is all (default)
    clusters: in-cluster, https://*   servers they may deploy to, patterns; `in-cluster` (default)
    namespaces: shop-*, blog          namespaces they may touch, patterns; `*` is all (default)
    objectKinds: "*, !Secret"         kinds of objects, `Kind` or `Kind.group`; `!` takes one out
    clusterScoped: "true"             objects without a namespace too; false by default
    override: "true"                  commits the target does not reach, options that weaken, and
                                      edits of live objects: content that no commit has
    overrideWindow: "true"            syncs that pass a closed sync window, in an emergency
    exec: "true"                      shells in containers of the pods of Applications
    maxPerMinute: "60"                tasks that write, begun in any minute; the rest waits
    maxReadsPerMinute: "600"          tasks that only look, likewise
    readOnly: "true"                  nothing that writes
    configMaps: shop/*                ConfigMaps (namespace/name) whose data may be shown
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase

import msgspec

from bus.identity import ResourceKey
from bus.link import TaskKind
from handlers.application.destination import (
    IN_CLUSTER_NAME,
    IN_CLUSTER_SERVER,
    DestinationCluster,
)
from handlers.control_plane.policy_values import is_listed, names_server, number, switch, words

CONFIG_MAP = "gitops-agent-limits"
_WRITES_PER_MINUTE, _READS_PER_MINUTE = 100, 600
_KEYS = frozenset(
    {
        "kinds",
        "clusters",
        "namespaces",
        "objectKinds",
        "clusterScoped",
        "override",
        "overrideWindow",
        "exec",
        "maxPerMinute",
        "maxReadsPerMinute",
        "readOnly",
        "configMaps",
    }
)


class ControlPlanePolicy(msgspec.Struct, frozen=True, kw_only=True):
    """The policy as `read_policy` reads it; the defaults are those of a ConfigMap without keys."""

    kinds: tuple[str, ...] = ("*",)
    clusters: tuple[str, ...] = (IN_CLUSTER_NAME,)
    namespaces: tuple[str, ...] = ("*",)
    object_kinds: tuple[str, ...] = ("*",)
    cluster_scoped: bool = False
    override: bool = False
    override_window: bool = False
    exec: bool = False
    max_per_minute: int = _WRITES_PER_MINUTE
    max_reads_per_minute: int = _READS_PER_MINUTE
    read_only: bool = False
    config_maps: tuple[str, ...] = ()
    problem: str = ""
    """Why the ConfigMap cannot be understood; then no task that writes is done."""
    exists: bool = True
    """Whether there is such a ConfigMap."""

    def refusal(self, kind: TaskKind, namespaces: tuple[str, ...]) -> str:
        """Why a task is refused, naming the rule; empty where it is allowed."""
        if kind.counts_as_write and (reason := self._nothing_written()):
            return reason
        if not ({"*", kind.value} & set(self.kinds)):
            return f"{CONFIG_MAP} does not allow tasks of kind {kind.value}"
        if not self.rate(kind):
            return f"{CONFIG_MAP} allows no task of kind {kind.value} in any minute"
        for namespace in namespaces:
            if not self.reaches(namespace):
                return f"{CONFIG_MAP} does not allow namespace {namespace or '(cluster)'}"
        return ""

    def cluster_problem(self, cluster: DestinationCluster) -> str:
        """The rule that forbids deploying to a cluster; empty where none does.

        Only servers count: the name of a cluster is written in its Secret, and the control plane
        may write Secrets.
        """
        names = [cluster.server]
        if cluster.server == IN_CLUSTER_SERVER:
            names.append(IN_CLUSTER_NAME)
        if any(names_server(pattern, name) for name in names for pattern in self.clusters):
            return ""
        return f"{CONFIG_MAP} does not name the cluster {cluster.server} in clusters"

    def object_problem(self, key: ResourceKey, *, namespaced: bool) -> str:
        """The rule that forbids writing or removing an object; empty where none does."""
        if not self.exists or self.problem:
            return self._nothing_written()
        if not is_listed(self.object_kinds, (key.kind, f"{key.kind}.{key.group}")):
            return f"{CONFIG_MAP} does not name its kind in objectKinds"
        if not namespaced:
            return "" if self.cluster_scoped else f"{CONFIG_MAP} does not say clusterScoped"
        if not self.reaches(key.namespace):
            return f"{CONFIG_MAP} does not name {key.namespace!r} in namespaces"
        return ""

    def edit_problem(self) -> str:
        """Why no live object may be edited; empty where edits are allowed.

        An edit brings content that no commit has.
        """
        if self.override:
            return ""
        return (
            f"an edit of a live object brings content that no commit has, and {CONFIG_MAP} of this"
            ' cluster does not say `override: "true"`; its owner may add that, or change it in Git'
        )

    def window_override_problem(self) -> str:
        """Why no operation may pass a closed sync window; empty where one may."""
        if not self.exists or self.problem:
            return self._nothing_written()
        if self.override_window:
            return ""
        return (
            f'{CONFIG_MAP} of this cluster does not say `overrideWindow: "true"`, so nothing passes'
            " a closed sync window; its owner may add that, or change the window in the AppProject"
        )

    def exec_problem(self) -> str:
        """Why there is no shell in any container; empty where the owner permits shells."""
        if not self.exists or self.problem or self.read_only:
            return self._nothing_written()
        if self.exec:
            return ""
        return (
            f'{CONFIG_MAP} of this cluster does not say `exec: "true"`, so nobody gets a shell in'
            " a container over the link; its owner may add that"
        )

    def creates_namespace(self, name: str) -> bool:
        """Whether a bare Namespace of this name may be created."""
        listed = is_listed(self.object_kinds, ("Namespace", "Namespace."))
        named = any(fnmatchcase(name, pattern) for pattern in self.namespaces)
        return self.exists and not self.problem and listed and named

    def reaches(self, namespace: str) -> bool:
        """Whether a task may touch a namespace; an empty name stands for the whole cluster."""
        if not namespace and self.cluster_scoped:
            return True
        return any(fnmatchcase(namespace, pattern) for pattern in self.namespaces)

    def rate(self, kind: TaskKind) -> int:
        """How many tasks like this one may begin in any minute."""
        return self.max_per_minute if kind.counts_as_write else self.max_reads_per_minute

    def shown(self) -> dict[str, object]:
        """The policy as the agent tells it to the service (`Hello.allowed`)."""
        return {
            "kinds": list(self.kinds),
            "clusters": list(self.clusters),
            "namespaces": list(self.namespaces),
            "objectKinds": list(self.object_kinds),
            "clusterScoped": self.cluster_scoped,
            "override": self.override,
            "overrideWindow": self.override_window,
            "exec": self.exec,
            "maxPerMinute": self.max_per_minute,
            "maxReadsPerMinute": self.max_reads_per_minute,
            "readOnly": bool(self._nothing_written()),
            "configMaps": list(self.config_maps),
            **({"problem": self.problem} if self.problem else {}),
        }

    def _nothing_written(self) -> str:
        if self.problem:
            return f"{CONFIG_MAP} cannot be understood ({self.problem}): nothing is changed here"
        if not self.exists:
            return (
                f"there is no ConfigMap {CONFIG_MAP} in the agent's namespace, so the control plane"
                " may only look; its owner allows more by making one, for instance with"
                " `namespaces: shop-*`"
            )
        if self.read_only:
            return f"{CONFIG_MAP} says readOnly: this agent only reports"
        return ""


def read_policy(data: Mapping[str, str] | None) -> ControlPlanePolicy:
    """The policy of a ConfigMap's data; None where there is no ConfigMap."""
    if data is None:
        return ControlPlanePolicy(exists=False)
    problems: list[str] = [f"unknown key {key[:40]!r}" for key in sorted(set(data) - _KEYS)]
    kinds = words(data.get("kinds", "*"))
    known = {"*", *(kind.value for kind in TaskKind)}
    problems += [f"unknown kind {kind[:40]!r}" for kind in kinds if kind not in known]
    return ControlPlanePolicy(
        kinds=kinds,
        clusters=words(data.get("clusters", IN_CLUSTER_NAME)),
        namespaces=words(data.get("namespaces", "*")),
        object_kinds=words(data.get("objectKinds", "*")),
        cluster_scoped=switch(data, "clusterScoped", problems),
        override=switch(data, "override", problems),
        override_window=switch(data, "overrideWindow", problems),
        exec=switch(data, "exec", problems),
        max_per_minute=number(data, "maxPerMinute", _WRITES_PER_MINUTE, problems),
        max_reads_per_minute=number(data, "maxReadsPerMinute", _READS_PER_MINUTE, problems),
        read_only=switch(data, "readOnly", problems),
        config_maps=words(data.get("configMaps", "")),
        problem="; ".join(problems),
    )
