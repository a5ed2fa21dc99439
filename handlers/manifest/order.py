"""The order in which objects are applied: sync waves, and Argo CD's order of kinds. Pure.

Kinds that others depend on come first; kinds not listed come last; ties are broken by name, so that
a plan is the same each time. `sync_plan` moves Namespaces and CRDs before their first user.
"""

from __future__ import annotations

from collections.abc import Iterable

from handlers.manifest.access import Manifest, annotation, group, kind, name, namespace

SYNC_WAVE = "argocd.argoproj.io/sync-wave"
HELM_HOOK_WEIGHT = "helm.sh/hook-weight"

KIND_ORDER = (
    "Namespace",
    "NetworkPolicy",
    "ResourceQuota",
    "LimitRange",
    "PodSecurityPolicy",
    "PodDisruptionBudget",
    "ServiceAccount",
    "Secret",
    "SecretList",
    "ConfigMap",
    "StorageClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "CustomResourceDefinition",
    "ClusterRole",
    "ClusterRoleList",
    "ClusterRoleBinding",
    "ClusterRoleBindingList",
    "Role",
    "RoleList",
    "RoleBinding",
    "RoleBindingList",
    "Service",
    "DaemonSet",
    "Pod",
    "ReplicationController",
    "ReplicaSet",
    "Deployment",
    "HorizontalPodAutoscaler",
    "StatefulSet",
    "Job",
    "CronJob",
    "IngressClass",
    "Ingress",
    "APIService",
)
_RANK = {kind: rank for rank, kind in enumerate(KIND_ORDER)}

ApplyOrder = tuple[int, int, str, str, str, str]


def wave(manifest: Manifest) -> int:
    """The sync wave; Helm's hook weight where none is written; 0 where it is not an integer."""
    for key in (SYNC_WAVE, HELM_HOOK_WEIGHT):
        try:
            return int(annotation(manifest, key))
        except ValueError:
            continue
    return 0


def kind_rank(kind_name: str) -> int:
    return _RANK.get(kind_name, len(KIND_ORDER))


def apply_order(manifest: Manifest) -> ApplyOrder:
    """A sort key: wave, kind order, name; the rest makes it total."""
    kind_name = kind(manifest)
    return (
        wave(manifest),
        kind_rank(kind_name),
        name(manifest),
        kind_name,
        namespace(manifest),
        group(manifest),
    )


def in_apply_order(manifests: Iterable[Manifest]) -> tuple[Manifest, ...]:
    return tuple(sorted(manifests, key=apply_order))
