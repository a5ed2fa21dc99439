"""The health of the kinds of Kubernetes itself, and of its volume snapshots."""

from __future__ import annotations

from handlers.health import kinds, workloads
from handlers.health.predicates import Present
from handlers.health.rule import DEGRADED, Field, Rule, Versions, When
from handlers.health.table import KindTable

_SNAPSHOT = Rule(
    Field("status.readyToUse", healthy=True),
    When(DEGRADED, Present("status.error"), message="the snapshot failed"),
)

KINDS: KindTable = {
    "": {
        "Pod": Versions(workloads.pod, "v1"),
        "Service": Versions(kinds.service, "v1"),
        "PersistentVolumeClaim": Versions(kinds.persistent_volume_claim, "v1"),
    },
    "apps": {
        "Deployment": Versions(workloads.deployment, "v1"),
        "StatefulSet": Versions(workloads.stateful_set, "v1"),
        "DaemonSet": Versions(workloads.daemon_set, "v1"),
        "ReplicaSet": Versions(workloads.replica_set, "v1"),
    },
    "batch": {"Job": Versions(kinds.job, "v1"), "CronJob": kinds.cron_job},
    "networking.k8s.io": {"Ingress": kinds.ingress},
    "extensions": {"Ingress": kinds.ingress},
    "autoscaling": {
        "HorizontalPodAutoscaler": Versions(kinds.horizontal_pod_autoscaler, "v1", "v2"),
    },
    "apiregistration.k8s.io": {"APIService": Versions(kinds.api_service, "v1", "v1beta1")},
    "apiextensions.k8s.io": {"CustomResourceDefinition": kinds.custom_resource_definition},
    "policy": {"PodDisruptionBudget": kinds.pod_disruption_budget},
    "snapshot.storage.k8s.io": {"VolumeSnapshot VolumeSnapshotContent": _SNAPSHOT},
}
