"""The health of storage: Ceph, MinIO, buckets, NetApp, and imports of disks."""

from __future__ import annotations

from handlers.health.patterns import READY
from handlers.health.predicates import Filled, Is, Not, StartsWith
from handlers.health.rule import (
    DEGRADED,
    HEALTHY,
    PROGRESSING,
    Conditions,
    Field,
    Rule,
    When,
)
from handlers.health.table import KindTable

_CEPH = "status.ceph.health"
_CEPH_CLUSTER = Rule(
    Field(_CEPH, degraded=("HEALTH_WARN", "HEALTH_ERR")),
    When(PROGRESSING, Not(Is(_CEPH, "HEALTH_OK")), message="Ceph has not reported yet"),
    Field("status.state", healthy=("Created", "Connected"), degraded="Error"),
)
_MINIO = "status.currentState"
_MINIO_TENANT = Rule(
    Field(
        _MINIO,
        healthy="Initialized",
        progressing="Restarting MinIO",
        degraded=(
            "Statefulset not controlled by operator",
            "Another MinIO Tenant already exists in the namespace",
            "Tenant credentials are not set properly",
            "Different versions across MinIO Pools",
            "Pool Decommissioning Not Allowed",
        ),
    ),
    When(PROGRESSING, StartsWith(_MINIO, "Provisioning", "Waiting", "Updating")),
)
_NETAPP_RUN = Rule(
    When(PROGRESSING, Not(Filled("status.state")), message="not started yet"),
    Field("status.state", healthy="Completed", progressing="Running"),
    otherwise=DEGRADED,
)

KINDS: KindTable = {
    "ceph.rook.io": {
        "CephCluster": _CEPH_CLUSTER,
        "CephObjectStore": Rule(Field("status.phase", healthy="Ready", degraded="Failure")),
    },
    "minio.min.io": {"Tenant": _MINIO_TENANT},
    "objectbucket.io": {
        "ObjectBucketClaim": Rule(Field("status.phase", healthy="Bound", degraded="Failed")),
    },
    "astra.netapp.io": {
        "AppVault": Rule(
            Field("status.state", healthy=("available", "Available"), degraded=("failed", "Failed"))
        ),
        "Application": READY,
        "Backup ExecHooksRun ResourceBackup ResticVolumeBackup Snapshot": _NETAPP_RUN,
        "ExecHook": Rule(Field("spec.enabled", healthy=True, suspended=False)),
        "Schedule": Rule(otherwise=HEALTHY),
    },
    "trident.netapp.io": {
        "TridentBackendConfig": Rule(
            When(HEALTHY, Is("status.phase", "Bound"), Is("status.lastOperationStatus", "Success")),
            Field("status.lastOperationStatus", degraded="Failed"),
        ),
        "TridentOrchestrator": Rule(
            Field("status.status", healthy="Installed", degraded=("Failed", "Error"))
        ),
    },
    "cdi.kubevirt.io": {
        "DataVolume": Rule(
            Field(
                "status.phase",
                healthy="Succeeded",
                degraded=("Failed", "Unknown"),
                suspended="Paused",
            ),
            Conditions(degraded="Running=False/Error"),
        ),
    },
}
