"""The health of the kinds beside workloads and pods, a function each. Pure.

The rules follow Argo CD's in substance. One difference: a definition that is still being installed
is progressing, not degraded, because every definition is for a moment.
"""

from __future__ import annotations

import msgspec

from handlers.health.states import (
    Health,
    condition,
    degraded,
    healthy,
    holds,
    progressing,
    suspended,
    unknown,
)
from handlers.manifest.access import Manifest, annotation, get, items, text, version


def service(manifest: Manifest) -> Health:
    if text(manifest, "spec", "type") != "LoadBalancer":
        return healthy()
    return _addressed(manifest)


def ingress(manifest: Manifest) -> Health:
    return _addressed(manifest)


def _addressed(manifest: Manifest) -> Health:
    if items(manifest, "status", "loadBalancer", "ingress"):
        return healthy()
    return progressing("no load balancer has given an address yet")


def persistent_volume_claim(manifest: Manifest) -> Health:
    phase = text(manifest, "status", "phase")
    match phase:
        case "Bound":
            return healthy()
        case "Pending":
            return progressing("the claim waits for a volume")
        case "Lost":
            return degraded("the claim lost its volume")
        case _:
            return unknown(
                f"phase {phase!r} of the claim is not known" if phase else "no phase yet"
            )


CONDITIONS = "autoscaling.alpha.kubernetes.io/conditions"

_FAILURES = {
    "AbleToScale": frozenset({"FailedGetScale", "FailedUpdateScale"}),
    "ScalingActive": frozenset(
        {
            "FailedGetResourceMetric",
            "FailedGetObjectMetric",
            "FailedGetPodsMetric",
            "FailedGetExternalMetric",
            "FailedComputeMetricsReplicas",
            "InvalidSelector",
        }
    ),
}
_WORKING = ("AbleToScale", "ScalingLimited")


def horizontal_pod_autoscaler(manifest: Manifest) -> Health:
    try:
        conditions = _conditions(manifest)
    except msgspec.DecodeError:
        return unknown(f"annotation {CONDITIONS} is not JSON")
    for entry in conditions:
        if text(entry, "reason") in _FAILURES.get(text(entry, "type"), ()):
            return degraded(text(entry, "message"))
    for entry in conditions:
        if entry.get("type") in _WORKING and entry.get("status") == "True":
            return healthy(text(entry, "message"))
    return progressing("Waiting to Autoscale")


def _conditions(manifest: Manifest) -> tuple[Manifest, ...]:
    if version(manifest) != "v1":
        return items(manifest, "status", "conditions")
    written = annotation(manifest, CONDITIONS)
    return items(msgspec.json.decode(written)) if written else ()


def job(manifest: Manifest) -> Health:
    """`Failed` counts with any status, as in Argo CD; a suspension that was lifted has ended."""
    failed = condition(manifest, "Failed")
    if failed is not None:
        return degraded(text(failed, "message"))
    paused = condition(manifest, "Suspended")
    if paused is not None and holds(manifest, "Suspended"):
        return suspended(text(paused, "message"))
    ended = condition(manifest, "Complete") or paused
    if ended is not None:
        return healthy(text(ended, "message"))
    return progressing("the job has not ended yet")


def cron_job(manifest: Manifest) -> Health:
    """Judge a CronJob as Argo CD's script does; times are RFC 3339 in UTC and compare as text.

    A run that never succeeded says nothing about the CronJob, whose Jobs have a health of their
    own; only a success that lies before the last schedule does.
    """
    if get(manifest, "spec", "suspend") is True:
        return healthy("the cron job is suspended")
    if get(manifest, "status") is None:
        return progressing("the cron job has no status yet")
    scheduled = text(manifest, "status", "lastScheduleTime")
    succeeded = text(manifest, "status", "lastSuccessfulTime")
    if not scheduled:
        return healthy("the cron job has not been due yet")
    active = items(manifest, "status", "active")
    if active or not succeeded:
        return healthy("a run is under way" if active else "no run has succeeded yet")
    if succeeded < scheduled:
        return degraded("the last run did not succeed")
    return healthy("the last run succeeded")


def api_service(manifest: Manifest) -> Health:
    available = condition(manifest, "Available")
    if available is None:
        return progressing("the API service has not been looked at yet")
    message = f"{text(available, 'reason')}: {text(available, 'message')}"
    return healthy(message) if available.get("status") == "True" else progressing(message)


def custom_resource_definition(manifest: Manifest) -> Health:
    if not items(manifest, "status", "conditions"):
        return progressing("the definition has no status yet")
    if holds(manifest, "Terminating"):
        return progressing("the definition is being deleted")
    names = condition(manifest, "NamesAccepted")
    if names is not None and names.get("status") == "False":
        return degraded(f"names not accepted: {text(names, 'message')}")
    if not holds(manifest, "Established"):
        return _not_established(manifest)
    if holds(manifest, "NonStructuralSchema"):
        return degraded(text(condition(manifest, "NonStructuralSchema"), "message"))
    return healthy("the definition is established")


def _not_established(manifest: Manifest) -> Health:
    established = condition(manifest, "Established")
    if established is None or established.get("reason") == "Installing":
        return progressing("the definition is being installed")
    return degraded(f"not established: {text(established, 'message')}")


def pod_disruption_budget(manifest: Manifest) -> Health:
    """Judge a budget by its conditions: too few pods for a disruption is what a budget is for."""
    conditions = items(manifest, "status", "conditions")
    if not conditions:
        return progressing("the budget has no status yet")
    for found in conditions:
        if found.get("status") == "False" and found.get("reason") != "InsufficientPods":
            return degraded(text(found, "message"))
    return healthy()


def workflow(manifest: Manifest) -> Health:
    message = text(manifest, "status", "message")
    match text(manifest, "status", "phase"):
        case "" | "Pending" | "Running":
            return progressing(message)
        case "Succeeded":
            return healthy(message)
        case "Failed" | "Error":
            return degraded(message)
        case _:
            return unknown(message)
