"""The health of Crossplane: its own kinds, and those of providers, by the end of a group."""

from __future__ import annotations

from handlers.health.patterns import READY_AND_SYNCED, UNTIL_CONDITIONS
from handlers.health.predicates import Filled, HasAll, Is, Not, Present
from handlers.health.rule import (
    DEGRADED,
    HEALTHY,
    PROGRESSING,
    Conditions,
    Rule,
    Scan,
    When,
)
from handlers.health.table import KindTable

_UP_TO_DATE = "the object is up to date"
_PROVIDER_CONFIGS = ("ProviderConfig", "ClusterProviderConfig")
_WITHOUT_STATUS = (*_PROVIDER_CONFIGS, "ProviderConfigUsage")
_OF_CROSSPLANE = ("Composition", "CompositionRevision", "DeploymentRuntimeConfig")


def _managed(silent: tuple[str, ...], *healthy: str) -> Rule:
    """Objects that never have a status are healthy; `silent` kinds may have an empty one."""
    return Rule(
        When(HEALTHY, Not(Present("status")), message=_UP_TO_DATE),
        When(HEALTHY, Not(Filled("status")), Is("kind", *silent), message=_UP_TO_DATE),
        When(
            HEALTHY,
            Not(Present("status.conditions")),
            Is("kind", *_PROVIDER_CONFIGS),
            Present("status.users"),
            message="the configuration is in use",
        ),
        Conditions(degraded=("LastAsyncOperation=False", "Synced=False")),
        Conditions(healthy=healthy),
    )


KINDS: KindTable = {
    "*.crossplane.io": {
        "*": _managed(
            (*_WITHOUT_STATUS, *_OF_CROSSPLANE, "ControllerConfig"),
            "Ready=True",
            "Healthy=True",
            "Offered=True",
            "Established=True",
            "ValidPipeline=True",
            "RevisionHealthy=True",
        ),
    },
    "*.upbound.io": {"*": _managed(_WITHOUT_STATUS, "Ready=True")},
    "cloudfront.aws.crossplane.io": {"Distribution": READY_AND_SYNCED},
    "iam.aws.crossplane.io": {"Policy Role RolePolicyAttachment": READY_AND_SYNCED},
    "rds.aws.crossplane.io": {"DBCluster DBInstance": READY_AND_SYNCED},
    "route53.aws.crossplane.io": {"ResourceRecordSet": READY_AND_SYNCED},
    "s3.aws.crossplane.io": {"Bucket": READY_AND_SYNCED},
    "pkg.crossplane.io": {
        "Provider": Rule(
            UNTIL_CONDITIONS,
            When(HEALTHY, HasAll("Installed=True", "Healthy=True")),
            Conditions(degraded=("Installed!=True", "Healthy!=True")),
            otherwise=DEGRADED,
        ),
    },
    "stacks.crossplane.io": {
        "ClusterStackInstall": Rule(
            Scan(at="status.conditionedStatus.conditions", healthy="Ready=True"),
            otherwise=PROGRESSING,
        ),
    },
}
