"""The health of one object by the rule of its kind, in Argo CD's order of evaluation. Pure.

Deletion comes first, for every kind. A kind without a rule has no health (None): it is left out of
its application's health and never makes a wave wait. A kind's health is one function and one line
here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from handlers.health import kinds, workloads
from handlers.health.states import Health, progressing, unknown
from handlers.manifest.access import Manifest, api_version, get, version
from handlers.manifest.hooks import HOOK_FINALIZER
from handlers.manifest.kinds import CUSTOM_RESOURCE_DEFINITION, GroupKind


class HealthRule(NamedTuple):
    judge: Callable[[Manifest], Health]
    versions: tuple[str, ...] = ()
    """The versions whose fields the rule reads; empty means any."""


_RULES = {
    GroupKind("apps", "Deployment"): HealthRule(workloads.deployment, ("v1",)),
    GroupKind("apps", "StatefulSet"): HealthRule(workloads.stateful_set, ("v1",)),
    GroupKind("apps", "DaemonSet"): HealthRule(workloads.daemon_set, ("v1",)),
    GroupKind("apps", "ReplicaSet"): HealthRule(workloads.replica_set, ("v1",)),
    GroupKind("", "Pod"): HealthRule(workloads.pod, ("v1",)),
    GroupKind("batch", "Job"): HealthRule(kinds.job, ("v1",)),
    GroupKind("batch", "CronJob"): HealthRule(kinds.cron_job),
    GroupKind("", "Service"): HealthRule(kinds.service, ("v1",)),
    GroupKind("networking.k8s.io", "Ingress"): HealthRule(kinds.ingress),
    GroupKind("extensions", "Ingress"): HealthRule(kinds.ingress),
    GroupKind("", "PersistentVolumeClaim"): HealthRule(kinds.persistent_volume_claim, ("v1",)),
    GroupKind("autoscaling", "HorizontalPodAutoscaler"): HealthRule(
        kinds.horizontal_pod_autoscaler, ("v1", "v2")
    ),
    GroupKind("apiregistration.k8s.io", "APIService"): HealthRule(
        kinds.api_service, ("v1", "v1beta1")
    ),
    CUSTOM_RESOURCE_DEFINITION: HealthRule(kinds.custom_resource_definition),
    GroupKind("policy", "PodDisruptionBudget"): HealthRule(kinds.pod_disruption_budget),
    GroupKind("argoproj.io", "Workflow"): HealthRule(kinds.workflow),
}


def assess(manifest: Manifest) -> Health | None:
    """The health of a live object; None where its kind has none."""
    if _is_being_deleted(manifest):
        return progressing("Pending deletion")
    kind = GroupKind.of(manifest)
    rule = _RULES.get(kind)
    if rule is None:
        return None
    if rule.versions and version(manifest) not in rule.versions:
        return unknown(f"unsupported version {api_version(manifest)} of {kind}")
    return rule.judge(manifest)


def _is_being_deleted(manifest: Manifest) -> bool:
    """A hook held by our own finalizer is still at work."""
    if get(manifest, "metadata", "deletionTimestamp") is None:
        return False
    return HOOK_FINALIZER not in (get(manifest, "metadata", "finalizers") or ())
