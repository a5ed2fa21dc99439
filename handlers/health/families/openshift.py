"""The health of OpenShift and of the Operator Lifecycle Manager."""

from __future__ import annotations

from handlers.health.conditions import conditions, message_of
from handlers.health.patterns import UNTIL_CONDITIONS
from handlers.health.predicates import AtLeast, Is, Not, Present
from handlers.health.rule import (
    DEGRADED,
    HEALTHY,
    PROGRESSING,
    UNKNOWN,
    Conditions,
    Rule,
    Scan,
    When,
)
from handlers.health.states import Health, degraded, healthy, progressing
from handlers.health.table import KindTable
from handlers.manifest.access import Manifest, items, text

_ROLLED_OUT = ("Available=True", "Progressing=True/NewReplicationControllerAvailable")
_DEPLOYMENT_CONFIG = Rule(
    UNTIL_CONDITIONS,
    When(PROGRESSING, Not(Present("status.replicas")), message="no replicas reported yet"),
    When(HEALTHY, Is("status.replicas", 0)),
    When(HEALTHY, AtLeast(2, *_ROLLED_OUT)),
    When(PROGRESSING, AtLeast(1, *_ROLLED_OUT), message="the roll-out is under way"),
    Conditions(degraded=("Available!=True", "Progressing=False")),
    otherwise=DEGRADED,
)


def route(manifest: Manifest) -> Health:
    """Every router that reports has to admit the route."""
    ingresses = items(manifest, "status", "ingress")
    admitted = [
        entry
        for ingress in ingresses
        for entry in conditions(ingress, "conditions")
        if entry.get("type") == "Admitted"
    ]
    accepting = sum(entry.get("status") == "True" for entry in admitted)
    if ingresses and accepting == len(ingresses):
        return healthy()
    for entry in admitted:
        if entry.get("status") == "False":
            return degraded(message_of(entry))
    return progressing("no router has admitted the route yet")


_PLAN_MISSING = "InstallPlanMissing"
_PLAN_PENDING = "InstallPlanPending"
_FAILURES = ("CatalogSourcesUnhealthy", "InstallPlanFailed", "ResolutionFailed")
_PENDING_STATES = ("", "UpgradeAvailable", "UpgradePending")


def subscription(manifest: Manifest) -> Health:
    """Count what is degraded, then what is pending.

    An upgrade that waits for the approval of a person, while a version is installed, is healthy.
    """
    entries = conditions(manifest)
    if not entries:
        return progressing("the subscription has no conditions yet")
    state = text(manifest, "status", "state")
    failed = next((entry for entry in entries if _has_failed(entry)), None)
    if failed is not None:
        return degraded(message_of(failed))
    if state == "UpgradeFailed":
        return degraded("the upgrade failed")
    waits_for_approval = _waits_for_approval(manifest)
    if not waits_for_approval and any(_is_pending(entry) for entry in entries):
        return progressing("an install plan is pending")
    if state in _PENDING_STATES and not (waits_for_approval and state == "UpgradePending"):
        return progressing(f"state: {state}" if state else "the subscription has no state yet")
    return healthy(state)


def _has_failed(entry: Manifest) -> bool:
    if entry.get("status") != "True":
        return False
    if entry.get("type") == _PLAN_MISSING:
        return entry.get("reason") != "ReferencedInstallPlanNotFound"
    return entry.get("type") in _FAILURES


def _is_pending(entry: Manifest) -> bool:
    return entry.get("type") == _PLAN_PENDING and entry.get("status") == "True"


def _waits_for_approval(manifest: Manifest) -> bool:
    manual = text(manifest, "spec", "installPlanApproval") == "Manual"
    if not manual or not text(manifest, "status", "installedCSV"):
        return False
    pending = [entry for entry in conditions(manifest) if _is_pending(entry)]
    return any(entry.get("reason") == "RequiresApproval" for entry in pending)


KINDS: KindTable = {
    "apps.openshift.io": {"DeploymentConfig": _DEPLOYMENT_CONFIG},
    "operator.openshift.io": {
        "IngressController": Rule(
            Scan(
                degraded="Degraded=True",
                progressing=("DeploymentReplicasAllAvailable=False", "Progressing=True"),
                healthy="Available=True",
            )
        ),
    },
    "route.openshift.io": {"Route": route},
    "ocs.openshift.io": {
        "StorageCluster": Rule(
            Conditions(
                degraded="Degraded=True", progressing="Progressing=True", healthy="Available=True"
            ),
            otherwise=UNKNOWN,
        ),
    },
    "operators.coreos.com": {"Subscription": subscription},
}
