"""The health of operators that stand for a cloud: Google, AWS, SAP, Gardener, Karpenter, Pulumi."""

from __future__ import annotations

from handlers.health.paths import label_path
from handlers.health.patterns import (
    READY,
    UNLESS_STALE,
    UNTIL_OBSERVED,
    UNTIL_STATUS,
)
from handlers.health.predicates import Filled, stale_condition
from handlers.health.rule import (
    HEALTHY,
    PROGRESSING,
    Clause,
    Conditions,
    Each,
    Field,
    Rule,
    Scan,
    When,
)
from handlers.health.states import Health
from handlers.health.table import KindTable
from handlers.manifest.access import Manifest

_CONFIG_CONNECTOR = Rule(
    UNLESS_STALE,
    Scan(
        healthy="*=True/UpToDate",
        degraded="*=*/UpdateFailed|DependencyNotFound",
        suspended="*=*/DependencyNotReady",
    ),
)
_CONNECTOR = Rule(
    UNLESS_STALE, Field("status.healthy", healthy=True, degraded=False), _CONFIG_CONNECTOR
)
_SAP_SERVICE = Rule(
    When(PROGRESSING, stale_condition, message="the controller has not seen the newest spec yet"),
    Conditions(degraded=("Succeeded=False", "Failed=True")),
    When(HEALTHY, Filled("status.conditions")),
)
_SPOT = Rule(
    Conditions(
        degraded=("InvalidSpec=*", "Progressing=*/RolloutAborted|ProgressDeadlineExceeded"),
        suspended="Paused=True",
    ),
    Field("status.phase", progressing="Progressing"),
    otherwise=HEALTHY,
)


def spot_deployment(manifest: Manifest) -> Health | None:
    """A deployment without conditions has no health."""
    return _SPOT(manifest) if Filled("status.conditions")(manifest) else None


_NODE_CLAIM: tuple[Clause, ...] = (
    UNLESS_STALE,
    Conditions(suspended="Disrupting=True", healthy="Ready=True", degraded="Ready=False"),
)

KINDS: KindTable = {
    "*.cnrm.cloud.google.com": {"*": _CONFIG_CONNECTOR},
    "core.cnrm.cloud.google.com": {"ConfigConnector ConfigConnectorContext": _CONNECTOR},
    "networking.gke.io": {
        "ManagedCertificate": Rule(
            Each("status.domainStatus", Field("status", degraded="FailedNotVisible")),
            Field("status.certificateStatus", healthy="Active"),
        ),
    },
    "core.gardener.cloud": {
        "Shoot": Rule(
            Field(
                label_path("shoot.gardener.cloud/status"),
                healthy="healthy",
                progressing="progressing",
                degraded="unhealthy",
                unknown="unknown",
            )
        ),
    },
    "karpenter.k8s.aws": {"EC2NodeClass": READY},
    "karpenter.sh": {"NodePool": READY, "NodeClaim": Rule(*_NODE_CLAIM)},
    "iammanager.keikoproj.io": {
        "Iamrole": Rule(
            Field(
                "status.state",
                healthy="Ready",
                degraded=(
                    "Error",
                    "RolesMaxLimitReached",
                    "PolicyNotAllowed",
                    "RoleNameNotAvailable",
                ),
            )
        ),
    },
    "services.cloud.sap.com": {"ServiceInstance ServiceBinding": _SAP_SERVICE},
    "spot.io": {"SpotDeployment": spot_deployment},
    "pulumi.com": {
        "Stack": Rule(
            UNTIL_STATUS,
            UNTIL_OBSERVED,
            Scan(degraded="Stalled=True", progressing="Reconciling=True", healthy="Ready=True"),
        ),
    },
}
