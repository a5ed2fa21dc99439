"""HorizontalPodAutoscaler: whether it can read its metrics and scale.

Version 1 keeps its conditions as JSON in an annotation.
"""

from __future__ import annotations

import msgspec

from handlers.health.states import Health, degraded, healthy, progressing, unknown
from handlers.manifest.access import Manifest, annotation, items, text, version

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
