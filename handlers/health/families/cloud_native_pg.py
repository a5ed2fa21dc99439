"""The health of a CloudNativePG Cluster, whose phase is free text written by its operator."""

from __future__ import annotations

from handlers.health.paths import annotation_path
from handlers.health.patterns import UNTIL_CONDITIONS
from handlers.health.rule import UNKNOWN, Conditions, Field, Rule

RECONCILIATION = "cnpg.io/reconciliationLoop"

CLUSTER = Rule(
    Field(annotation_path(RECONCILIATION), suspended="disabled"),
    Conditions(suspended="cnpg.io/hibernation=True", degraded="cnpg.io/hibernation=*"),
    UNTIL_CONDITIONS,
    Field(
        "status.phase",
        healthy="Cluster in healthy state",
        progressing=(
            "Setting up primary",
            "Creating a new replica",
            "Upgrading cluster",
            "Waiting for the instances to become active",
            "Promoting to primary cluster",
        ),
        degraded=(
            "Switchover in progress",
            "Failing over",
            "Upgrading Postgres major version",
            "Cluster upgrade delayed",
            "Waiting for user action",
            "Primary instance is being restarted in-place",
            "Primary instance is being restarted without a switchover",
            "Cluster cannot execute instance online upgrade due to missing architecture binary",
            "Online upgrade in progress",
            "Applying configuration",
        ),
        suspended=(
            "Unable to create required cluster objects",
            "Cluster cannot proceed to reconciliation due to an unknown plugin being required",
            "Cluster has incomplete or invalid image catalog",
            "Cluster is unrecoverable and needs manual intervention",
        ),
    ),
    otherwise=UNKNOWN,
)
