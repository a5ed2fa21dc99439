"""The health of the Cluster API: clusters and machines as objects."""

from __future__ import annotations

from handlers.health.conditions import conditions, message_of
from handlers.health.predicates import Equal, Present
from handlers.health.rule import (
    DEGRADED,
    HEALTHY,
    Conditions,
    Field,
    Rule,
    Scan,
    When,
)
from handlers.health.states import Health, degraded
from handlers.health.table import KindTable
from handlers.manifest.access import Manifest

_PAUSED = Field("spec.paused", suspended=True)


def _severe(manifest: Manifest) -> Health | None:
    """A condition that is False with the severity Error; others are steps on the way."""
    for entry in conditions(manifest):
        if entry.get("status") == "False" and entry.get("severity") == "Error":
            return degraded(message_of(entry))
    return None


KINDS: KindTable = {
    "cluster.x-k8s.io": {
        "Cluster": Rule(
            _PAUSED,
            Conditions(degraded="Ready=False"),
            Field("status.phase", healthy="Provisioned", degraded="Failed"),
        ),
        "Machine": Rule(Field("status.phase", healthy="Running", degraded="Failed")),
        "MachineDeployment": Rule(
            _PAUSED, Field("status.phase", healthy="Running", degraded="Failed")
        ),
        "MachinePool": Rule(
            Field("status.phase", healthy=("Running", "Scaling"), degraded=("Failed", "Unknown"))
        ),
        "MachineHealthCheck": Rule(
            When(
                HEALTHY,
                Present("status.currentHealthy"),
                Equal("status.currentHealthy", "status.expectedMachines"),
            ),
            When(
                DEGRADED,
                Present("status.currentHealthy"),
                Present("status.expectedMachines"),
                message="not all of the expected machines are healthy",
            ),
        ),
    },
    "addons.cluster.x-k8s.io": {
        "ClusterResourceSet": Rule(
            Scan(healthy="ResourcesApplied=True", degraded="ResourcesApplied=False")
        ),
    },
    "controlplane.cluster.x-k8s.io": {
        "AWSManagedControlPlane": Rule(Conditions(healthy="Ready=True"), _severe),
    },
}
