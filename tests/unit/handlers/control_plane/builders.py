"""A governance for tests: what the owner's ConfigMap says, and the applications it knows."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from bus.identity import AppKey
from handlers.application.application import Application, AppProject
from handlers.control_plane.governance import Governance
from handlers.control_plane.policy import read_policy
from handlers.manifest.kinds import KindInfo
from handlers.ports import Clusters
from tests.unit.handlers.one_cluster import cluster_of_kinds

CLUSTER_KINDS = {"Namespace": "namespaces", "ClusterRole": "clusterroles"}


class KnownApps(msgspec.Struct, frozen=True):
    """handlers.ports.ApplicationLookup over values."""

    apps: tuple[Application, ...] = ()
    projects: tuple[AppProject, ...] = ()

    def get(self, key: AppKey) -> Application | None:
        return next((one for one in self.apps if one.key == key), None)

    def project(self, name: str) -> AppProject | None:
        return next((one for one in self.projects if one.metadata.name == name), None)


def governance(
    data: Mapping[str, str] | None = None,
    *,
    apps: tuple[Application, ...] = (),
    projects: tuple[AppProject, ...] = (),
    control_kinds: tuple[str, ...] = (),
    clusters: Clusters | None = None,
) -> Governance:
    """`data`: of the ConfigMap; None where there is none."""
    policy = read_policy(data)
    return Governance(
        apps=KnownApps(apps, projects),
        clusters=clusters or cluster_of_kinds(served),
        policy=lambda: policy,
        control_namespace="argocd",
        own_secrets=frozenset({"gitops-agent-link", "gitops-agent-keys"}),
        control_kinds=frozenset(control_kinds),
    )


def served(group: str, kind: str) -> KindInfo | None:
    plural = CLUSTER_KINDS.get(kind, f"{kind.lower()}s")
    return KindInfo(
        group=group, version="v1", kind=kind, plural=plural, namespaced=kind not in CLUSTER_KINDS
    )
