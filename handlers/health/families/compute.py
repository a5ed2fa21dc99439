"""The health of machines and jobs: KubeVirt, Flink, Spark, game servers, Keycloak."""

from __future__ import annotations

from handlers.health.conditions import conditions, message_of
from handlers.health.families.spark import spark_application
from handlers.health.predicates import Has, On, Present
from handlers.health.rule import (
    PROGRESSING,
    SUSPENDED,
    Conditions,
    Field,
    Rule,
    When,
)
from handlers.health.states import Health, degraded, healthy, progressing
from handlers.health.table import KindTable
from handlers.manifest.access import Manifest, text

_VIRTUAL_MACHINE = Rule(
    Conditions(suspended="Paused=True", healthy="Ready=True"),
    When(PROGRESSING, Has("Ready!=True"), On("status.created"), message="starting"),
    When(SUSPENDED, Has("Ready!=True"), message="the machine is stopped"),
)
_INSTANCE = Rule(
    Field(
        "status.phase",
        degraded="Failed",
        progressing=("Pending", "Scheduling", "Scheduled"),
        suspended="Succeeded",
        unknown="Unknown",
    ),
    Conditions(suspended="Paused=True", healthy="Ready=True", degraded="Ready=*"),
)
_FLINK_JOB = Rule(
    Field("status.reconciliationStatus.success", healthy=True),
    Field("status.reconciliationStatus.state", healthy="DEPLOYED"),
    Field(
        "status.jobManagerDeploymentStatus",
        progressing=("DEPLOYED_NOT_READY", "DEPLOYING"),
        degraded="ERROR",
    ),
)


def flink_deployment(manifest: Manifest) -> Health | None:
    if not Present("status.reconciliationStatus")(manifest):
        return progressing("the operator has not reconciled the deployment yet")
    return _FLINK_JOB(manifest)


def keycloak(manifest: Manifest) -> Health:
    """Read the conditions by the time of their transition: what came first decides."""
    entries = sorted(conditions(manifest), key=lambda one: text(one, "lastTransitionTime"))
    for entry in entries:
        if entry.get("status") == "True" and entry.get("type") == "Ready":
            return healthy(message_of(entry))
        if entry.get("status") == "True" and entry.get("type") == "HasErrors":
            return degraded(message_of(entry))
    return progressing("the server is not ready yet")


KINDS: KindTable = {
    "kubevirt.io": {"VirtualMachine": _VIRTUAL_MACHINE, "VirtualMachineInstance": _INSTANCE},
    "flink.apache.org": {"FlinkDeployment": flink_deployment},
    "sparkoperator.k8s.io": {"SparkApplication": spark_application},
    "k8s.keycloak.org": {"Keycloak": keycloak},
}
