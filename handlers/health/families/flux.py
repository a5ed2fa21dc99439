"""The health of Flux: reconcilers that are ready, suspended or stuck.

A HelmRelease needs two of its three signals. Argo CD's script asks for exactly two, so that a
release whose tests passed is degraded there; here it is healthy.
"""

from __future__ import annotations

from handlers.health.patterns import SUSPENDED_BY_SPEC, UNTIL_CONDITIONS, flux
from handlers.health.predicates import Has
from handlers.health.rule import (
    DEGRADED,
    HEALTHY,
    PROGRESSING,
    Clause,
    Conditions,
    Field,
    Rule,
    When,
)
from handlers.health.table import KindTable

_SOURCE = flux(2, "Ready=True", "ArtifactInStorage=True")
_STATIC = Field("spec.type", healthy="oci")
"""An OCI HelmRepository is only a name: the controller writes no status."""


def _image(reasons: str, *before: Clause) -> Rule:
    """An image kind that is at work says `Ready=False` together with one of these reasons."""
    at_work = (Has("Ready=False"), Has(f"Reconciling=True/{reasons}"))
    return Rule(
        *before,
        UNTIL_CONDITIONS,
        When(PROGRESSING, *at_work, message="reconciling"),
        Conditions(healthy="Ready=True", degraded="Ready=*"),
        otherwise=DEGRADED,
    )


KINDS: KindTable = {
    "source.toolkit.fluxcd.io": {
        "GitRepository OCIRepository Bucket HelmChart": _SOURCE,
        "HelmRepository": Rule(SUSPENDED_BY_SPEC, _STATIC, _SOURCE),
    },
    "kustomize.toolkit.fluxcd.io": {"Kustomization": flux(1, "Ready=True")},
    "helm.toolkit.fluxcd.io": {
        "HelmRelease": flux(2, "Ready=True", "Released=True", "TestSuccess=True"),
    },
    "image.toolkit.fluxcd.io": {
        "ImageUpdateAutomation": flux(1, "Ready=True"),
        "ImageRepository": _image("NewGeneration|Scanning", SUSPENDED_BY_SPEC),
        "ImagePolicy": _image("NewGeneration|AccessingRepository|ApplyingPolicy"),
    },
    "notification.toolkit.fluxcd.io": {
        "Receiver": Rule(
            SUSPENDED_BY_SPEC,
            UNTIL_CONDITIONS,
            When(HEALTHY, Has("Ready=True")),
            Conditions(degraded="Ready!=True"),
            otherwise=DEGRADED,
        ),
    },
}
