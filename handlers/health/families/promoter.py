"""The health of GitOps Promoter: Ready of the newest spec first, then what the kind promotes."""

from __future__ import annotations

from handlers.health.conditions import conditions, is_current
from handlers.health.patterns import NOT_SEEN, UNTIL_STATUS
from handlers.health.predicates import Equal, Filled, Not
from handlers.health.rule import (
    DEGRADED,
    HEALTHY,
    PROGRESSING,
    Clause,
    Conditions,
    Rule,
    When,
)
from handlers.health.states import Health, degraded, healthy, progressing
from handlers.health.table import KindTable
from handlers.manifest.access import Manifest, items, text

_READY = ("Ready",)


def _reported(types: tuple[str, ...] = _READY) -> Clause:
    """Progressing until one of the conditions is there and about the newest spec."""

    def clause(manifest: Manifest) -> Health | None:
        found = next((one for one in conditions(manifest) if one.get("type") in types), None)
        if found is None:
            return progressing("the controller has not looked at the object yet")
        return None if is_current(found, manifest) else progressing(NOT_SEEN)

    return clause


_NOT_READY = Conditions(degraded="Ready=False")
_NOT_KNOWN = Conditions(progressing="Ready=Unknown")
_COMMON = (UNTIL_STATUS, _reported(), _NOT_READY)


def _environments(manifest: Manifest) -> Health:
    """A commit status fails with one environment, and is pending with one."""
    phases = [text(one, "phase") for one in items(manifest, "status", "environments")]
    if "failure" in phases:
        return degraded("an environment failed")
    if any(phase != "success" for phase in phases):
        return progressing("an environment is pending")
    return healthy()


def promotion_strategy(manifest: Manifest) -> Health:
    environments = items(manifest, "status", "environments")
    if not environments:
        return degraded("the strategy has no environments")
    active = [text(one, "active", "dry", "sha") for one in environments]
    proposed = [
        text(one, "proposed", "note", "drySha") or text(one, "proposed", "dry", "sha")
        for one in environments
    ]
    if not all((*active, *proposed)):
        return progressing("an environment has no commit yet")
    if len(set(proposed)) > 1:
        return progressing("the environments propose different commits")
    wanted = [text(one, "proposed", "dry", "sha") for one in environments]
    if wanted != active:
        return progressing("a commit waits for its promotion")
    return healthy("every environment has the newest commit")


_TRANSFERRED = (
    When(
        PROGRESSING, Not(Filled("status.active.dry.sha")), message="nothing has been promoted yet"
    ),
    When(PROGRESSING, Not(Filled("status.proposed.dry.sha")), message="nothing is proposed yet"),
    When(HEALTHY, Equal("status.active.dry.sha", "status.proposed.dry.sha")),
)
_CHECKED = Rule(*_COMMON, otherwise=HEALTHY)
_PATIENT = Rule(*_COMMON, _NOT_KNOWN, otherwise=HEALTHY)
_BY_ENVIRONMENT = Rule(*_COMMON, _NOT_KNOWN, _environments)

KINDS: KindTable = {
    "promoter.argoproj.io": {
        "ScmProvider ClusterScmProvider GitRepository": _PATIENT,
        "CommitStatus": _CHECKED,
        "PullRequest": Rule(
            UNTIL_STATUS,
            _reported(("Ready", "Reconciled")),
            Conditions(degraded=("Ready=False", "Reconciled=False")),
            otherwise=HEALTHY,
        ),
        "ArgoCDCommitStatus": Rule(
            *_COMMON,
            When(
                DEGRADED,
                Not(Filled("status.applicationsSelected")),
                message="the selector finds no Application",
            ),
            otherwise=HEALTHY,
        ),
        "GitCommitStatus TimedCommitStatus WebRequestCommitStatus": _BY_ENVIRONMENT,
        "ChangeTransferPolicy": Rule(*_COMMON, *_TRANSFERRED),
        "PromotionStrategy": Rule(*_COMMON, promotion_strategy),
    },
}
