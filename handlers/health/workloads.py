"""The health of pods, and of Deployment, StatefulSet, DaemonSet and ReplicaSet. Pure.

Pods: containers that cannot start count first, then the phase. A pod that restarts for ever is
judged by readiness; a pod that is meant to end is progressing until it has ended. The annotation
`ignore-restart-policy` has a pod of another policy judged as endless.

Workloads: is the spec rolled out? A field that is absent asks for nothing: a `spec.replicas` that
is left out is not compared (the server always fills it in). First match wins.
"""

from __future__ import annotations

from collections.abc import Iterator

from handlers.health.states import (
    Health,
    condition,
    counted,
    degraded,
    healthy,
    holds,
    observed,
    progressing,
    suspended,
    unknown,
)
from handlers.manifest.access import Manifest, annotation, get, items, mapping, number, text
from handlers.manifest.hooks import is_hook

IGNORE_RESTART_POLICY = "argocd.argoproj.io/ignore-restart-policy"


def pod(manifest: Manifest) -> Health:
    endless = _runs_for_ever(manifest)
    stuck = list(_stuck(manifest)) if endless else []
    if stuck:
        return degraded(", ".join(stuck))
    message = text(manifest, "status", "message")
    match text(manifest, "status", "phase"):
        case "Pending":
            return progressing(message)
        case "Succeeded":
            return healthy(message)
        case "Failed":
            return degraded(message or _first_failure(manifest))
        case "Running":
            return _running(manifest, message) if endless else progressing(message)
        case _:
            return unknown(message)


def _runs_for_ever(manifest: Manifest) -> bool:
    """The server's default policy is `Always`."""
    if text(manifest, "spec", "restartPolicy") in ("Always", ""):
        return True
    return annotation(manifest, IGNORE_RESTART_POLICY) == "true" and not is_hook(manifest)


def _stuck(manifest: Manifest) -> Iterator[str]:
    for status in items(manifest, "status", "containerStatuses"):
        waiting = mapping(status, "state", "waiting")
        reason = text(waiting, "reason")
        if reason.startswith("Err") or reason.endswith(("Error", "BackOff")):
            yield text(waiting, "message") or reason


def _running(manifest: Manifest, message: str) -> Health:
    if holds(manifest, "Ready"):
        return healthy(message)
    crashed = any(
        status.get("lastState", {}).get("terminated") is not None
        for status in items(manifest, "status", "containerStatuses")
        if isinstance(status.get("lastState", {}), dict)
    )
    return degraded(message) if crashed else progressing(message)


def _first_failure(manifest: Manifest) -> str:
    lists = ("initContainerStatuses", "containerStatuses")
    statuses = (status for each in lists for status in items(manifest, "status", each))
    return next(filter(None, map(_failure, statuses)), "")


def _failure(status: Manifest) -> str:
    ended = mapping(status, "state", "terminated")
    if text(ended, "message"):
        return text(ended, "message")
    if text(ended, "reason") == "OOMKilled":
        return "OOMKilled"
    code = number(ended, "exitCode")
    return f'container "{text(status, "name")}" failed with exit code {code}' if code else ""


_NOT_SEEN = "the controller has not seen the newest spec yet"


def deployment(manifest: Manifest) -> Health:
    if get(manifest, "spec", "paused") is True:
        return suspended("the deployment is paused")
    if not observed(manifest):
        return progressing(_NOT_SEEN)
    rollout = condition(manifest, "Progressing")
    if rollout is not None and rollout.get("reason") == "ProgressDeadlineExceeded":
        return degraded(text(rollout, "message") or "the roll-out exceeded its progress deadline")
    return _rollout(manifest)


def _rollout(manifest: Manifest) -> Health:
    replicas = number(manifest, "spec", "replicas")
    updated = counted(manifest, "updatedReplicas")
    available = counted(manifest, "availableReplicas")
    old = counted(manifest, "replicas") - updated
    if updated < replicas:
        return progressing(f"{updated} of {replicas} new replicas are updated")
    if old > 0:
        return progressing(f"{old} old replicas are yet to terminate")
    if available < updated:
        return progressing(f"{available} of {updated} updated replicas are available")
    return healthy()


def stateful_set(manifest: Manifest) -> Health:
    if counted(manifest, "observedGeneration") == 0 or not observed(manifest):
        return progressing(_NOT_SEEN)
    replicas = number(manifest, "spec", "replicas")
    ready = counted(manifest, "readyReplicas")
    if ready < replicas:
        return progressing(f"{ready} of {replicas} pods are ready")
    strategy = mapping(manifest, "spec", "updateStrategy")
    if strategy.get("type") == "RollingUpdate" and strategy.get("rollingUpdate") is not None:
        return _partitioned(manifest, replicas)
    if strategy.get("type") == "OnDelete":
        return healthy(f"{ready} pods are ready; updates wait for deletion of pods")
    if text(manifest, "status", "updateRevision") != text(manifest, "status", "currentRevision"):
        return progressing(f"{counted(manifest, 'updatedReplicas')} pods are at the new revision")
    return healthy()


def _partitioned(manifest: Manifest, replicas: int) -> Health:
    """A rolling update stops at its partition: only the pods above it are meant to be new."""
    partition = get(manifest, "spec", "updateStrategy", "rollingUpdate", "partition")
    updated = counted(manifest, "updatedReplicas")
    if isinstance(partition, int) and updated < replicas - partition:
        return progressing(f"{updated} of {replicas - partition} pods of the partition are updated")
    return healthy(f"{updated} pods are updated")


def daemon_set(manifest: Manifest) -> Health:
    if not observed(manifest):
        return progressing(_NOT_SEEN)
    if text(manifest, "spec", "updateStrategy", "type") == "OnDelete":
        return healthy("updates wait for deletion of pods")
    replicas = counted(manifest, "desiredNumberScheduled")
    updated = counted(manifest, "updatedNumberScheduled")
    available = counted(manifest, "numberAvailable")
    if updated < replicas:
        return progressing(f"{updated} of {replicas} pods are updated")
    if available < replicas:
        return progressing(f"{available} of {replicas} pods are available")
    return healthy()


def replica_set(manifest: Manifest) -> Health:
    if not observed(manifest):
        return progressing(_NOT_SEEN)
    if holds(manifest, "ReplicaFailure"):
        return degraded(text(condition(manifest, "ReplicaFailure"), "message"))
    replicas = number(manifest, "spec", "replicas")
    available = counted(manifest, "availableReplicas")
    if available < replicas:
        return progressing(f"{available} of {replicas} replicas are available")
    return healthy()
