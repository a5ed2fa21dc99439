"""The health of Argo Rollouts' Rollout: its phase, once the newest spec has been seen. Pure.

`status.observedGeneration` is text, and no number in the oldest versions. Versions before 1.1 have
no phase; what they report is read as their own command line does.
"""

from __future__ import annotations

from handlers.health.patterns import NOT_SEEN
from handlers.health.states import (
    Health,
    condition,
    counted,
    degraded,
    healthy,
    progressing,
    status_named,
    suspended,
    unknown,
)
from handlers.manifest.access import Manifest, annotation, get, mapping, number, text, whole_number

_WORKLOAD_GENERATION = "rollout.argoproj.io/workload-generation"
_ABORTED = ("RolloutAborted", "ProgressDeadlineExceeded")


def rollout(manifest: Manifest) -> Health:
    if not _is_observed(manifest):
        return progressing(NOT_SEEN)
    phase = text(manifest, "status", "phase")
    if phase:
        return _of_phase(phase, text(manifest, "status", "message"))
    return _failed_or_paused(manifest) or _of_replicas(manifest)


def _is_observed(manifest: Manifest) -> bool:
    if get(manifest, "spec", "workloadRef") is not None:
        generation = annotation(manifest, _WORKLOAD_GENERATION)
        seen = str(get(manifest, "status", "workloadObservedGeneration") or "")
        if generation and generation != seen:
            return False
    generation_seen = str(get(manifest, "status", "observedGeneration") or "")
    if not generation_seen:
        return False
    observed = whole_number(generation_seen)
    return observed is None or observed >= number(manifest, "metadata", "generation")


def _of_phase(phase: str, message: str) -> Health:
    if phase == "Paused":
        return suspended(message)
    status = status_named(phase)
    if status is None:
        return unknown(f"phase {phase!r} of the rollout is not known")
    return Health(status, message)


def _failed_or_paused(manifest: Manifest) -> Health | None:
    invalid = condition(manifest, "InvalidSpec")
    if invalid is not None:
        return degraded(text(invalid, "message"))
    progress = condition(manifest, "Progressing")
    if progress is not None and progress.get("reason") in _ABORTED:
        return degraded(text(progress, "message"))
    if get(manifest, "status", "pauseConditions") or get(manifest, "spec", "paused") is True:
        return suspended("the rollout is paused")
    return None


def _of_replicas(manifest: Manifest) -> Health:
    newest = text(manifest, "status", "currentPodHash")
    updated = counted(manifest, "updatedReplicas")
    if not newest or updated < number(manifest, "spec", "replicas", default=1):
        return progressing("more replicas need to be updated")
    if counted(manifest, "availableReplicas") < updated:
        return progressing("updated replicas are still becoming available")
    if get(manifest, "spec", "strategy", "blueGreen") is not None:
        return _blue_green(manifest, newest)
    return _canary(manifest, newest, updated)


def _blue_green(manifest: Manifest, newest: str) -> Health:
    status = mapping(manifest, "status", "blueGreen")
    stable = text(manifest, "status", "stableRS")
    if text(status, "activeSelector") != newest:
        return progressing("the active service does not select the newest pods yet")
    if stable and stable != newest:
        return progressing("the newest version is not the stable one yet")
    return healthy()


def _canary(manifest: Manifest, newest: str, updated: int) -> Health:
    if counted(manifest, "replicas") > updated:
        return progressing("old replicas are yet to terminate")
    if text(manifest, "status", "stableRS") != newest:
        return progressing("the newest version is not the stable one yet")
    return healthy()
