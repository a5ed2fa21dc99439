"""The health of functions and of services that scale to zero."""

from __future__ import annotations

from handlers.health.conditions import conditions, message_of
from handlers.health.patterns import READY, UNTIL_CONDITIONS, UNTIL_STATUS
from handlers.health.predicates import Either, Has, HasAll, Is, Not, Positive, Present
from handlers.health.rule import (
    DEGRADED,
    HEALTHY,
    Conditions,
    Rule,
    When,
)
from handlers.health.states import Health, degraded, progressing
from handlers.health.table import KindTable
from handlers.manifest.access import Manifest, number


def _installation(waits: tuple[str, ...], *holds: str) -> Rule:
    """An operator's installation: at work while a condition is open, else all of `holds`."""
    return Rule(
        UNTIL_CONDITIONS,
        Conditions(progressing=(*waits, "*=Unknown")),
        When(HEALTHY, HasAll(*holds)),
        Conditions(degraded="*=False"),
        otherwise=DEGRADED,
    )


_MODEL_STATE = "status.modelStatus.transitionStatus"


def _open(manifest: Manifest) -> bool:
    """A condition does not hold; `Stopped` is left out, for it is no part of readiness."""
    return any(
        entry.get("type") != "Stopped" and entry.get("status") in ("False", "Unknown")
        for entry in conditions(manifest)
    )


_INFERENCE = Rule(
    UNTIL_CONDITIONS,
    Conditions(suspended="Stopped=True"),
    When(
        HEALTHY,
        Either(Is(_MODEL_STATE, "UpToDate"), Not(Present("status.modelStatus"))),
        Not(_open),
    ),
    When(
        DEGRADED,
        Present(_MODEL_STATE),
        Not(Is(_MODEL_STATE, "UpToDate", "InProgress")),
        message="the model cannot be loaded",
    ),
)


def _stuck(manifest: Manifest) -> Health | None:
    """A roll-out that ended without success says so by its reason, or only by its message."""
    for entry in conditions(manifest):
        if entry.get("type") == "Progressing" and entry.get("status") == "False":
            message = message_of(entry)
            words = message.lower()
            late = entry.get("reason") == "ProgressDeadlineExceeded"
            if late or "timed out" in words or "timeout" in words or "fail" in words:
                return degraded(message)
    return None


def _too_few_ready(manifest: Manifest) -> Health | None:
    replicas = number(manifest, "spec", "replicas", default=1)
    ready = number(manifest, "status", "readyReplicas")
    return progressing(f"{ready} of {replicas} replicas are ready") if ready < replicas else None


KINDS: KindTable = {
    "operator.knative.dev": {
        "KnativeServing": _installation(
            ("Ready=False", "DeploymentsAvailable=False"),
            "Ready=True",
            "InstallSucceeded=True",
            "DependenciesInstalled=True",
            "DeploymentsAvailable=True",
        ),
        "KnativeEventing": _installation(("Ready=False",), "Ready=True", "InstallSucceeded=True"),
    },
    "serving.knative.dev": {
        "Service": Rule(
            Conditions(degraded="*=False", progressing="*=Unknown"),
            When(HEALTHY, HasAll("ConfigurationsReady=True", "RoutesReady=True", "Ready=True")),
        ),
    },
    "serving.kserve.io": {"InferenceService": _INFERENCE},
    "openfaas.com": {
        "Function": Rule(
            Conditions(degraded=("Ready=False", "Stalled=True")),
            When(HEALTHY, Has("Ready=True"), Positive("status.replicas")),
            Conditions(suspended="Ready=True"),
        ),
    },
    "core.spinkube.dev": {
        "SpinApp": Rule(
            UNTIL_STATUS,
            _stuck,
            Conditions(degraded="Available!=True"),
            _too_few_ready,
            Conditions(progressing="Progressing=True"),
            otherwise=HEALTHY,
        ),
    },
    "camel.apache.org": {"Integration": READY},
}
