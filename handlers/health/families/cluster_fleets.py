"""The health of objects that place others in many clusters: Karmada, Open Cluster Management."""

from __future__ import annotations

from handlers.health.patterns import UNTIL_OBSERVED, UNTIL_STATUS
from handlers.health.predicates import Equal, Filled, Not, Present
from handlers.health.rule import (
    DEGRADED,
    HEALTHY,
    PROGRESSING,
    Field,
    Rule,
    Scan,
    When,
)
from handlers.health.states import Health, degraded, healthy, progressing
from handlers.health.table import KindTable
from handlers.manifest.access import Manifest, items, text


def resource_binding(manifest: Manifest) -> Health:
    """Every cluster of the binding has to report; one that does not know counts if it applied."""
    clusters = items(manifest, "spec", "clusters")
    reports = items(manifest, "status", "aggregatedStatus")
    if not clusters or len(reports) != len(clusters):
        return progressing("not all clusters have reported yet")
    for report in reports:
        health = text(report, "health")
        if health == "Unhealthy" or (health == "Unknown" and report.get("applied") is not True):
            return degraded(f"cluster {text(report, 'clusterName')}: {health}")
    return healthy()


_UNTIL_COMPLIANCE = When(
    PROGRESSING, Not(Present("status.compliant")), message="compliance is not known yet"
)
_COMPLIANCE = Field("status.compliant", healthy="Compliant")
_POLICY = Rule(
    Field("spec.disabled", healthy=True),
    UNTIL_STATUS,
    When(
        HEALTHY,
        Not(Present("status.compliant")),
        Filled("status.placement"),
        Not(Present("status.status")),
        message="the policy is placed on no cluster",
    ),
    _UNTIL_COMPLIANCE,
    _COMPLIANCE,
    otherwise=DEGRADED,
)
_CONFIGURATION_POLICY = Rule(
    _UNTIL_COMPLIANCE,
    When(
        PROGRESSING,
        Not(Equal("status.lastEvaluatedGeneration", "metadata.generation")),
        message="the newest spec has not been evaluated yet",
    ),
    _COMPLIANCE,
    otherwise=DEGRADED,
)

KINDS: KindTable = {
    "work.karmada.io": {"ResourceBinding ClusterResourceBinding": resource_binding},
    "policy.open-cluster-management.io": {
        "Policy": _POLICY,
        "ConfigurationPolicy": _CONFIGURATION_POLICY,
        "CertificatePolicy": Rule(_UNTIL_COMPLIANCE, _COMPLIANCE, otherwise=DEGRADED),
        "OperatorPolicy": Rule(
            UNTIL_OBSERVED, Scan(healthy="Compliant=True", degraded="Compliant=*")
        ),
    },
}
