"""The actions of operators: Flux, External Secrets, KEDA, CloudNativePG, Numaflow and others."""

from __future__ import annotations

from collections.abc import Mapping

from handlers.actions.action import (
    ActionCall,
    ActionError,
    Changes,
    ResourceAction,
    changes_of,
)
from handlers.actions.patches import (
    NOW,
    REMOVED,
    SUSPENSION,
    annotates,
    labels,
    replicas_of,
    sets,
    switches,
)
from handlers.health.families.cloud_native_pg import RECONCILIATION
from handlers.health.paths import annotation_path
from handlers.health.predicates import Either, Is, Not, On, Present
from handlers.manifest.access import Manifest, get, name, number

_RECONCILE = annotates(
    "reconcile", "reconcile.fluxcd.io/requestedAt", NOW, enabled=Not(On("spec.suspend"))
)
_FLUX = (_RECONCILE, *SUSPENSION)
_NO_INTERVAL = Is("spec.refreshInterval", "0", "0s", "0h")
_REFRESH = annotates(
    "refresh",
    "force-sync",
    NOW,
    enabled=Either(Not(_NO_INTERVAL), Is("spec.refreshPolicy", "OnChange")),
)
_PUSH = annotates("push", "force-sync", NOW, enabled=Not(_NO_INTERVAL))

_PAUSED, _REPLICAS = "autoscaling.keda.sh/paused", "autoscaling.keda.sh/paused-replicas"
_IS_PAUSED = Is(annotation_path(_PAUSED), "true")
_PAUSE = annotates("pause", _PAUSED, "true", enabled=Not(_IS_PAUSED))


def _paused_at(scaled: Manifest, call: ActionCall) -> Changes:  # noqa: ARG001  of any object
    replicas = str(replicas_of(call))
    return changes_of({"metadata": {"annotations": {_REPLICAS: replicas}}})


_SCALED_OBJECT = (
    _PAUSE,
    sets(
        "resume",
        (annotation_path(_PAUSED), REMOVED),
        (annotation_path(_REPLICAS), REMOVED),
        enabled=Either(_IS_PAUSED, Present(annotation_path(_REPLICAS))),
    ),
    ResourceAction(name="paused-replicas", changes=_paused_at, params=("replicas",)),
)
_SCALED_JOB = (_PAUSE, annotates("resume", _PAUSED, REMOVED, enabled=_IS_PAUSED))

_ENABLED_LOOP = Not(Is(annotation_path(RECONCILIATION), "disabled"))


def _promoted(cluster: Manifest, call: ActionCall) -> Changes:
    """Make an instance the primary: `any`, the number of an instance, or the name of its pod."""
    instance = call.params["instance"].strip()
    if number(cluster, "status", "readyInstances") < _LEAST_INSTANCES:
        raise ActionError("the cluster has fewer than two ready instances")
    primary = str(get(cluster, "status", "currentPrimary") or "")
    names = [str(one) for one in get(cluster, "status", "instanceNames") or ()]
    wanted = f"{name(cluster)}-{instance}" if instance.isdecimal() else instance
    others = [one for one in names if one != primary and wanted in ("any", one)]
    if not others:
        raise ActionError(
            f"instance {instance!r} cannot be promoted; expected any, or one of {names} "
            f"but {primary}"
        )
    return changes_of(
        {
            "status": {
                "targetPrimary": others[0],
                "targetPrimaryTimestamp": call.instant,
                "phase": "Switchover in progress",
                "phaseReason": f"Switching over to {others[0]}",
            }
        }
    )


_LEAST_INSTANCES = 2
_POSTGRES = (
    annotates("restart", "kubectl.kubernetes.io/restartedAt", NOW),
    annotates("reload", "cnpg.io/reloadedAt", NOW),
    annotates("suspend", RECONCILIATION, "disabled", enabled=_ENABLED_LOOP),
    annotates("resume", RECONCILIATION, REMOVED, enabled=Not(_ENABLED_LOOP)),
    ResourceAction(name="promote", changes=_promoted, params=("instance",)),
)

_PHASE = "spec.lifecycle.desiredPhase"
_STRATEGY = annotation_path("numaflow.numaproj.io/resume-strategy")
_STOPPED = Is(_PHASE, "Paused")
_FORCE = labels("force-promote", "numaplane.numaproj.io/force-promote", "true")
_DELETE = annotates("delete", "numaplane.numaproj.io/marked-for-deletion", "true")
_HALT = sets("pause", (_PHASE, "Paused"), enabled=Not(_STOPPED))
_PIPELINE = (
    _FORCE,
    _DELETE,
    _HALT,
    sets("unpause-fast", (_PHASE, "Running"), (_STRATEGY, "fast"), enabled=_STOPPED),
    sets("unpause-gradual", (_PHASE, "Running"), (_STRATEGY, "slow"), enabled=_STOPPED),
)
_MONO_VERTEX = (
    _FORCE,
    _HALT,
    sets("unpause-fast", (_PHASE, "Running"), enabled=_STOPPED),
    sets("unpause-gradual", (_PHASE, "Running"), ("spec.replicas", REMOVED), enabled=_STOPPED),
)


def _rollout(child: str) -> tuple[ResourceAction, ...]:
    """A rollout of Numaplane keeps the lifecycle of its child inside its own spec."""
    phase = f"spec.{child}.spec.lifecycle.desiredPhase"
    fast, stopped = "spec.strategy.pauseResume.fastResume", Is(phase, "Paused")
    return (
        sets("pause", (phase, "Paused"), enabled=Not(stopped)),
        sets("unpause-fast", (phase, "Running"), (fast, True), enabled=stopped),
        sets("unpause-gradual", (phase, "Running"), (fast, False), enabled=stopped),
    )


_DATA_LOSS = "numaplane.numaproj.io/allow-data-loss"

ACTIONS: Mapping[str, Mapping[str, tuple[ResourceAction, ...]]] = {
    "source.toolkit.fluxcd.io": {
        "GitRepository OCIRepository Bucket HelmChart HelmRepository": _FLUX,
    },
    "kustomize.toolkit.fluxcd.io": {"Kustomization": _FLUX},
    "helm.toolkit.fluxcd.io": {"HelmRelease": _FLUX},
    "image.toolkit.fluxcd.io": {"ImageRepository ImageUpdateAutomation": _FLUX},
    "notification.toolkit.fluxcd.io": {"Receiver": _FLUX, "Alert Provider": SUSPENSION},
    "external-secrets.io": {"ExternalSecret": (_REFRESH,), "PushSecret": (_PUSH,)},
    "core.strimzi.io": {
        "StrimziPodSet": (annotates("rolling-update", "strimzi.io/manual-rolling-update", "true"),),
    },
    "k8s.mariadb.com": {"MariaDB": SUSPENSION},
    "psmdb.percona.com": {
        "PerconaServerMongoDB": switches("spec.pause", "pause", "unpause"),
    },
    "keda.sh": {"ScaledObject": _SCALED_OBJECT, "ScaledJob": _SCALED_JOB},
    "postgresql.cnpg.io": {"Cluster": _POSTGRES},
    "numaflow.numaproj.io": {
        "Pipeline": _PIPELINE,
        "MonoVertex": _MONO_VERTEX,
        "InterStepBufferService": (_FORCE,),
    },
    "numaplane.numaproj.io": {
        "MonoVertexRollout": _rollout("monoVertex"),
        "PipelineRollout": (
            *_rollout("pipeline"),
            annotates("allow-data-loss", _DATA_LOSS, "true"),
            annotates("disallow-data-loss", _DATA_LOSS, "false"),
        ),
    },
}
