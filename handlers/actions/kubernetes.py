"""The actions of workloads: restart, scale, pause, suspend, terminate."""

from __future__ import annotations

from collections.abc import Mapping

from handlers.actions.action import ActionCall, Changes, ResourceAction, changes_of
from handlers.actions.patches import REMOVED, RESTART, SCALE, SUSPENSION, sets
from handlers.health.predicates import Has, Not, On
from handlers.manifest.access import Manifest, items

_FINISHED = Has("Complete=True", "Failed=True", "FailureTarget=True")


def _terminated(manifest: Manifest, call: ActionCall) -> Changes:
    """Ask the Job's controller to fail it; a merge patch replaces the whole list."""
    if _FINISHED(manifest):
        return ()
    condition = {
        "type": "FailureTarget",
        "status": "True",
        "reason": "ManuallyTerminated",
        "message": "terminated by a person",
        "lastTransitionTime": call.instant,
        "lastProbeTime": call.instant,
    }
    listed = [*items(manifest, "status", "conditions"), condition]
    return changes_of({"status": {"conditions": listed}})


ACTIONS: Mapping[str, Mapping[str, tuple[ResourceAction, ...]]] = {
    "apps": {
        "Deployment": (
            RESTART,
            SCALE,
            sets("pause", ("spec.paused", True), enabled=Not(On("spec.paused"))),
            sets("resume", ("spec.paused", REMOVED), enabled=On("spec.paused")),
        ),
        "StatefulSet": (RESTART, SCALE),
        "DaemonSet": (RESTART,),
    },
    "batch": {
        "CronJob": SUSPENSION,
        "Job": (
            *SUSPENSION,
            ResourceAction(name="terminate", changes=_terminated, enabled=Not(_FINISHED)),
        ),
    },
}
