"""The health of OpenKruise: workloads that stop at a partition, and the games built on them.

A partition that was reached is suspended: somebody has to lower it. Argo CD's scripts take a
partition that is left out for one that is set, which matters only where the webhook of OpenKruise,
which fills in 0, is not installed.
"""

from __future__ import annotations

from collections.abc import Callable

from handlers.health.patterns import NOT_SEEN, UNTIL_OBSERVED
from handlers.health.predicates import Filled, Is, Not, On, Present, stale
from handlers.health.rule import (
    DEGRADED,
    HEALTHY,
    PROGRESSING,
    SUSPENDED,
    UNKNOWN,
    Conditions,
    Field,
    Rule,
    When,
)
from handlers.health.states import Health, counted, degraded, healthy, progressing, suspended
from handlers.health.table import KindTable
from handlers.manifest.access import Manifest, get, number

_AT_PARTITION = "the roll-out has reached its partition"


def _stops(manifest: Manifest, partition: object) -> bool:
    return partition != 0 and number(manifest, "metadata", "generation") > 1


def clone_set(manifest: Manifest) -> Health:
    strategy = get(manifest, "spec", "updateStrategy")
    if stale(manifest):
        return progressing(NOT_SEEN)
    if get(strategy, "paused") is True or not Present("status.updatedAvailableReplicas")(manifest):
        return suspended("the roll-out is paused")
    if _stops(manifest, get(strategy, "partition")):
        reached = counted(manifest, "updatedReplicas") >= counted(
            manifest, "expectedUpdatedReplicas"
        )
        return suspended(_AT_PARTITION) if reached else progressing("updating to the partition")
    return _all_available(manifest)


def stateful_set(manifest: Manifest) -> Health:
    rolling = get(manifest, "spec", "updateStrategy", "rollingUpdate")
    if stale(manifest):
        return progressing(NOT_SEEN)
    if get(rolling, "paused") is True or not Present("status.updatedAvailableReplicas")(manifest):
        return suspended("the roll-out is paused")
    if _stops(manifest, get(rolling, "partition")):
        left = counted(manifest, "replicas") - number(rolling, "partition")
        reached = counted(manifest, "updatedReplicas") > left
        return suspended(_AT_PARTITION) if reached else progressing("updating to the partition")
    return _all_available(manifest)


def _all_available(manifest: Manifest) -> Health:
    available, replicas = (
        counted(manifest, "updatedAvailableReplicas"),
        counted(manifest, "replicas"),
    )
    message = f"{available} of {replicas} updated replicas are available"
    return healthy(message) if available == replicas else degraded(message)


def daemon_set(manifest: Manifest) -> Health:
    rolling = get(manifest, "spec", "updateStrategy", "rollingUpdate")
    if stale(manifest):
        return progressing(NOT_SEEN)
    if get(rolling, "paused") is True or not Present("status.updatedNumberScheduled")(manifest):
        return suspended("the roll-out is paused")
    desired = counted(manifest, "desiredNumberScheduled")
    updated = counted(manifest, "updatedNumberScheduled")
    if _stops(manifest, get(rolling, "partition")):
        reached = updated > desired - number(rolling, "partition")
        return suspended(_AT_PARTITION) if reached else progressing("updating to the partition")
    if updated == desired and counted(manifest, "numberAvailable") == desired:
        return healthy()
    if updated == desired and counted(manifest, "numberUnavailable") == desired:
        return degraded("no pod is available")
    return progressing(f"{updated} of {desired} pods are updated")


def game_server_set(manifest: Manifest) -> Health:
    rolling = get(manifest, "spec", "updateStrategy", "rollingUpdate")
    if stale(manifest):
        return progressing(NOT_SEEN)
    if get(rolling, "paused") is True or not Present("status.updatedReadyReplicas")(manifest):
        return suspended("the roll-out is paused")
    replicas, updated = counted(manifest, "replicas"), counted(manifest, "updatedReplicas")
    partition = get(rolling, "partition")
    if partition is not None and _stops(manifest, partition):
        reached = updated >= replicas - number(rolling, "partition")
        return suspended(_AT_PARTITION) if reached else progressing("updating to the partition")
    ready = counted(manifest, "updatedReadyReplicas")
    message = f"{ready} of {replicas} updated replicas are ready"
    return healthy(message) if ready == replicas else progressing(message)


def _all_succeeded(manifest: Manifest) -> bool:
    return counted(manifest, "succeeded") == counted(manifest, "desired")


_BROADCAST = Rule(
    When(HEALTHY, Is("status.phase", "completed"), _all_succeeded),
    Field("status.phase", progressing="running", degraded="failed", suspended="paused"),
)
_NEVER_SCHEDULED = Not(Present("status.lastScheduleTime"))
_ADVANCED_CRON_JOB = Rule(
    When(SUSPENDED, _NEVER_SCHEDULED, On("spec.paused"), message="the job is paused"),
    When(PROGRESSING, Filled("status.active"), message="a run is under way"),
    When(DEGRADED, _NEVER_SCHEDULED, message="the job has never been scheduled"),
    otherwise=HEALTHY,
)


def _step(phase: str, step: str) -> tuple[Callable[[Manifest], bool], ...]:
    return Is("status.phase", phase), Is("status.canaryStatus.currentStepState", step)


_ROLLOUT = Rule(
    UNTIL_OBSERVED,
    When(PROGRESSING, *_step("Progressing", "StepUpgrade"), message="a step is rolled out"),
    When(SUSPENDED, *_step("Progressing", "StepPaused"), message="a step waits for approval"),
    When(HEALTHY, *_step("Healthy", "Completed")),
    When(DEGRADED, *_step("Terminating", "StepPaused")),
    When(DEGRADED, *_step("Disabled", "StepPaused")),
)


def _unsettled(manifest: Manifest) -> bool:
    return bool(get(manifest, "status", "currentState") != get(manifest, "status", "desiredState"))


_GAME_SERVER = Rule(
    When(UNKNOWN, Not(Filled("status")), message="no status yet"),
    When(PROGRESSING, _unsettled, message="the server changes its state"),
    Conditions(degraded="KruisePodReady!=True"),
    When(HEALTHY, Is("status.currentState", "Ready"), Is("status.desiredState", "Ready")),
    otherwise=UNKNOWN,
)

KINDS: KindTable = {
    "apps.kruise.io": {
        "CloneSet": clone_set,
        "StatefulSet": stateful_set,
        "DaemonSet": daemon_set,
        "BroadcastJob": _BROADCAST,
        "AdvancedCronJob": _ADVANCED_CRON_JOB,
    },
    "rollouts.kruise.io": {"Rollout": _ROLLOUT},
    "game.kruise.io": {"GameServer": _GAME_SERVER, "GameServerSet": game_server_set},
}
