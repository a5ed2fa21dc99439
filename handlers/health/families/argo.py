"""The health of Argo's own kinds: rollouts, analyses, workflows, events and Applications.

An Application has the health of its own status, so that the waves of an app of apps wait for its
children; Argo CD does so only where a script is given. A child that nothing has deployed and that
does not sync by itself has no health, because a wave would wait for a person. Nor has one that
manages itself, whose health would depend on itself.
"""

from __future__ import annotations

from bus.status import HealthStatus
from handlers.health import kinds
from handlers.health.families.argo_rollout import rollout
from handlers.health.patterns import UNTIL_STATUS
from handlers.health.predicates import Filled, Not
from handlers.health.rule import (
    HEALTHY,
    PROGRESSING,
    Conditions,
    Field,
    Rule,
    Scan,
    When,
)
from handlers.health.states import Health, progressing, status_named
from handlers.health.table import KindTable
from handlers.manifest.access import Manifest, get, name, namespace, text
from handlers.manifest.tracking import self_referenced, tracking_of

_UNTIL_PHASE = When(PROGRESSING, Not(Filled("status.phase")), message="not started yet")
_RUN = Field(
    "status.phase",
    progressing=("Pending", "Running"),
    healthy="Successful",
    degraded=("Failed", "Error"),
)
_NOT_DEPLOYED = (None, HealthStatus.MISSING, HealthStatus.UNKNOWN)


def application(manifest: Manifest) -> Health | None:
    """Copy the health that the child's own status has."""
    if _manages_itself(manifest):
        return None
    status = status_named(text(manifest, "status", "health", "status"))
    if status in _NOT_DEPLOYED and not _syncs_by_itself(manifest):
        return None
    if status is None:
        return progressing("the child has not been assessed yet")
    return Health(status, text(manifest, "status", "health", "message"))


def _manages_itself(manifest: Manifest) -> bool:
    tracked = tracking_of(manifest)
    own = (name(manifest), f"{namespace(manifest)}_{name(manifest)}")
    return tracked is not None and self_referenced(manifest) and tracked.app in own


def _syncs_by_itself(manifest: Manifest) -> bool:
    automated = get(manifest, "spec", "syncPolicy", "automated")
    return automated is not None and get(automated, "enabled") is not False


KINDS: KindTable = {
    "argoproj.io": {
        "Application": application,
        "Rollout": rollout,
        "Workflow": kinds.workflow,
        "AnalysisRun": Rule(
            UNTIL_STATUS,
            _UNTIL_PHASE,
            _RUN,
            Field("status.phase", unknown="Inconclusive"),
            otherwise=None,
        ),
        "Experiment": Rule(UNTIL_STATUS, _UNTIL_PHASE, _RUN, otherwise=None),
        "ApplicationSet": Rule(
            Conditions(degraded=("ErrorOccurred=True", "ResourcesUpToDate=False")),
            Conditions(progressing="RolloutProgressing=True", healthy="ResourcesUpToDate=True"),
        ),
        "CronWorkflow": Rule(
            Scan(degraded=("SpecError=True", "SubmissionError=True"), healthy="Completed=True"),
            otherwise=HEALTHY,
        ),
        "EventBus": Rule(Scan(degraded="Deployed=False", healthy="Deployed=True")),
    },
}
