"""The health of monitoring: Grafana, Prometheus, collectors, and analyses of metrics."""

from __future__ import annotations

from handlers.health.patterns import READY, UNLESS_STALE
from handlers.health.predicates import Filled, Is, Not
from handlers.health.rule import (
    DEGRADED,
    HEALTHY,
    PROGRESSING,
    Conditions,
    Field,
    Rule,
    Scan,
    When,
)
from handlers.health.states import Health, degraded, healthy, progressing
from handlers.health.table import KindTable
from handlers.manifest.access import Manifest, text, whole_number


def open_telemetry_collector(manifest: Manifest) -> Health:
    """Judge a collector by `ready/total` of its pods; a sidecar has no pods of its own."""
    written = text(manifest, "status", "scale", "statusReplicas")
    mode = text(manifest, "spec", "mode")
    if not written:
        return healthy() if mode == "sidecar" else progressing("no replicas reported yet")
    ready, total = (whole_number(part) for part in written.partition("/")[::2])
    if ready is None or total is None:
        return progressing(f"replicas: {written}")
    if ready == total and (ready or mode == "daemonset"):
        return healthy(f"replicas: {written}")
    return progressing(f"replicas: {written}") if ready else degraded(f"replicas: {written}")


_STAGES = Rule(
    Field("status.stageStatus", degraded="failed"),
    When(HEALTHY, Is("status.stage", "complete"), Is("status.stageStatus", "success")),
)
_SYNCHRONISED = Rule(Conditions(degraded="*=False", healthy="*=True"))
_DATASOURCE = Rule(
    When(PROGRESSING, Not(Filled("status.uid")), message="the data source is not created yet"),
    Field("status.NoMatchingInstances", degraded=True),
    otherwise=HEALTHY,
)
_REMOTE = Rule(Scan(healthy="RemoteSynced=True", degraded="RemoteSynced=False"))
_KEPTN_TASK = Rule(Field("status.status", healthy="Succeeded", degraded="Failed"))
_KEPTN_METRIC = Rule(
    When(DEGRADED, Filled("status.errMsg"), message="the metric cannot be read"),
    When(HEALTHY, Filled("status.value")),
)

KINDS: KindTable = {
    "grafana.integreatly.org": {
        "Grafana": _STAGES,
        "GrafanaDashboard GrafanaFolder": _SYNCHRONISED,
        "GrafanaDatasource": _DATASOURCE,
    },
    "grafana-org-operator.kubitus-project.gitlab.io": {"*": READY},
    "coralogix.com": {"Alert RecordingRuleGroupSet": _REMOTE},
    "datadoghq.com": {
        "DatadogMetric": Rule(
            Conditions(degraded=("Error=True", "Valid=False")), otherwise=HEALTHY
        ),
    },
    "monitoring.coreos.com": {
        "Prometheus": Rule(
            Scan(
                healthy="Available=True",
                progressing="Available=*/SomePodsNotReady",
                degraded="Available=*",
            )
        ),
    },
    "jaegertracing.io": {
        "Jaeger": Rule(Field("status.phase", healthy="Running", degraded="Failed")),
    },
    "opentelemetry.io": {"OpenTelemetryCollector": open_telemetry_collector},
    "operator.victoriametrics.com": {
        "*": Rule(
            UNLESS_STALE,
            Field(
                "status.updateStatus",
                healthy="operational",
                progressing="expanding",
                suspended="paused",
                degraded="failed",
            ),
        ),
    },
    "metrics.keptn.sh": {
        "Analysis": Rule(
            Field("status.pass", healthy=True),
            Field("status.warning", healthy=True),
            Field("status.pass", degraded=False),
        ),
        "KeptnMetric": _KEPTN_METRIC,
    },
    "lifecycle.keptn.sh": {
        "KeptnAppVersion KeptnTask KeptnWorkloadInstance KeptnWorkloadVersion": _KEPTN_TASK,
        "KeptnEvaluation": Rule(
            Field("status.overallStatus", healthy="Succeeded", degraded="Failed")
        ),
    },
}
