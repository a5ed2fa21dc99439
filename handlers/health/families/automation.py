"""The health of scalers, jobs of Ansible, and log repositories."""

from __future__ import annotations

from handlers.health.predicates import HasAll
from handlers.health.rule import SUSPENDED, Conditions, Field, Rule, When
from handlers.health.table import KindTable

_PAUSED = When(SUSPENDED, HasAll("Ready=True", "Paused=True"), message="scaling is paused")
_SCALES = Conditions(healthy="Ready=True")

KINDS: KindTable = {
    "keda.sh": {
        "ScaledObject": Rule(
            Conditions(degraded=("Ready=False", "Fallback=True")), _PAUSED, _SCALES
        ),
        "ScaledJob": Rule(Conditions(degraded=("Ready=False", "Ready=Unknown")), _PAUSED, _SCALES),
    },
    "tower.ansible.com": {
        "AnsibleJob": Rule(
            Field(
                "status.ansibleJobResult.status",
                healthy="successful",
                degraded=("failed", "error", "canceled"),
            )
        ),
    },
    "core.humio.com": {
        "HumioAction HumioAlert HumioIngestToken HumioParser HumioRepository HumioView": Rule(
            Field(
                "status.state",
                healthy="Exists",
                missing="NotFound",
                degraded="ConfigError",
                unknown="Unknown",
            )
        ),
        "HumioCluster": Rule(
            Field(
                "status.state",
                healthy="Running",
                progressing=("Restarting", "Upgrading", "Pending"),
                degraded="ConfigError",
                unknown="Unknown",
            )
        ),
    },
}
