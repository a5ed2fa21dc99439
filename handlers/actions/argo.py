"""The actions of Argo's kinds: promote or abort a Rollout, end an analysis, toggle a sync."""

from __future__ import annotations

from collections.abc import Mapping

from handlers.actions.action import (
    ActionCall,
    ActionError,
    Changes,
    ResourceAction,
    changes_of,
)
from handlers.actions.patches import NOW, REMOVED, sets
from handlers.health.predicates import Either, Filled, Is, Not, On
from handlers.manifest.access import Manifest, get, items, number, whole_number

_PAUSED = Either(On("spec.paused"), Filled("status.pauseConditions"))
_ENDED = Is("status.phase", "Successful", "Failed", "Error", "Inconclusive")
_OPEN = Is("spec.state", "open")


def _steps(rollout: Manifest) -> int:
    return len(items(rollout, "spec", "strategy", "canary", "steps"))


def _has_next_step(rollout: Manifest) -> bool:
    return number(rollout, "status", "currentStepIndex") < _steps(rollout)


def _skipped(rollout: Manifest, call: ActionCall) -> Changes:  # noqa: ARG001  of the object alone
    if not _has_next_step(rollout):
        raise ActionError("the rollout has no step left to skip")
    following = number(rollout, "status", "currentStepIndex") + 1
    return changes_of({"status": {"pauseConditions": None, "currentStepIndex": following}})


def _promoted(rollout: Manifest, call: ActionCall) -> Changes:  # noqa: ARG001  of the object alone
    """Ask a controller that numbers generations; older ones are set to their last step."""
    seen = str(get(rollout, "status", "observedGeneration") or "")
    generation = number(rollout, "metadata", "generation")
    observed = whole_number(seen)
    if observed is not None and observed <= generation:
        return changes_of({"status": {"promoteFull": True}})
    return changes_of({"status": {"abort": None, "currentStepIndex": _steps(rollout)}})


def _toggled(app: Manifest, call: ActionCall) -> Changes:  # noqa: ARG001  of the object alone
    """A block that is absent is off; one that says nothing is on."""
    automated = get(app, "spec", "syncPolicy", "automated")
    is_on = automated is not None and get(automated, "enabled") is not False
    return changes_of({"spec": {"syncPolicy": {"automated": {"enabled": not is_on}}}})


_ROLLOUT = (
    sets("pause", ("spec.paused", True), enabled=Not(On("spec.paused"))),
    sets(
        "resume",
        ("status.pauseConditions", REMOVED),
        ("spec.paused", False),
        enabled=_PAUSED,
    ),
    sets("abort", ("status.abort", True), enabled=Not(On("status.abort"))),
    sets("retry", ("status.abort", REMOVED), enabled=On("status.abort")),
    sets("restart", ("spec.restartAt", NOW)),
    ResourceAction(name="promote-full", changes=_promoted),
    ResourceAction(name="skip-current-step", changes=_skipped, enabled=_has_next_step),
)

ACTIONS: Mapping[str, Mapping[str, tuple[ResourceAction, ...]]] = {
    "argoproj.io": {
        "Rollout": _ROLLOUT,
        "AnalysisRun": (sets("terminate", ("spec.terminate", True), enabled=Not(_ENDED)),),
        "Application": (ResourceAction(name="toggle-auto-sync", changes=_toggled),),
    },
    "promoter.argoproj.io": {
        "PullRequest": (sets("merge", ("spec.state", "merged"), enabled=_OPEN),),
    },
}
