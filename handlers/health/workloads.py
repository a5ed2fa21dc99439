"""Deployment, StatefulSet, DaemonSet, ReplicaSet: whether what was asked is rolled out.

A field that is absent asks for nothing: `spec.replicas` left out is not compared (the server
always fills it in). First match wins.
"""

from __future__ import annotations

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
)
from handlers.manifest.access import Manifest, get, mapping, number, text

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
    wanted = number(manifest, "spec", "replicas")
    updated = counted(manifest, "updatedReplicas")
    available = counted(manifest, "availableReplicas")
    old = counted(manifest, "replicas") - updated
    if updated < wanted:
        return progressing(f"{updated} of {wanted} new replicas are updated")
    if old > 0:
        return progressing(f"{old} old replicas are yet to terminate")
    if available < updated:
        return progressing(f"{available} of {updated} updated replicas are available")
    return healthy()


def stateful_set(manifest: Manifest) -> Health:
    if counted(manifest, "observedGeneration") == 0 or not observed(manifest):
        return progressing(_NOT_SEEN)
    wanted = number(manifest, "spec", "replicas")
    ready = counted(manifest, "readyReplicas")
    if ready < wanted:
        return progressing(f"{ready} of {wanted} pods are ready")
    strategy = mapping(manifest, "spec", "updateStrategy")
    if strategy.get("type") == "RollingUpdate" and strategy.get("rollingUpdate") is not None:
        return _partitioned(manifest, wanted)
    if strategy.get("type") == "OnDelete":
        return healthy(f"{ready} pods are ready; updates wait for deletion of pods")
    if text(manifest, "status", "updateRevision") != text(manifest, "status", "currentRevision"):
        return progressing(f"{counted(manifest, 'updatedReplicas')} pods are at the new revision")
    return healthy()


def _partitioned(manifest: Manifest, wanted: int) -> Health:
    """A rolling update stops at its partition: only the pods above it are meant to be new."""
    partition = get(manifest, "spec", "updateStrategy", "rollingUpdate", "partition")
    updated = counted(manifest, "updatedReplicas")
    if isinstance(partition, int) and updated < wanted - partition:
        return progressing(f"{updated} of {wanted - partition} pods of the partition are updated")
    return healthy(f"{updated} pods are updated")


def daemon_set(manifest: Manifest) -> Health:
    if not observed(manifest):
        return progressing(_NOT_SEEN)
    if text(manifest, "spec", "updateStrategy", "type") == "OnDelete":
        return healthy("updates wait for deletion of pods")
    wanted = counted(manifest, "desiredNumberScheduled")
    updated = counted(manifest, "updatedNumberScheduled")
    available = counted(manifest, "numberAvailable")
    if updated < wanted:
        return progressing(f"{updated} of {wanted} pods are updated")
    if available < wanted:
        return progressing(f"{available} of {wanted} pods are available")
    return healthy()


def replica_set(manifest: Manifest) -> Health:
    if not observed(manifest):
        return progressing(_NOT_SEEN)
    if holds(manifest, "ReplicaFailure"):
        return degraded(text(condition(manifest, "ReplicaFailure"), "message"))
    wanted = number(manifest, "spec", "replicas")
    available = counted(manifest, "availableReplicas")
    if available < wanted:
        return progressing(f"{available} of {wanted} replicas are available")
    return healthy()
