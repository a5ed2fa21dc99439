"""Prometheus metrics of the service: names begin with `gitops_service_`.

Fields are the metrics themselves: whoever counts says `metrics.items.labels("fact").inc()`. Labels
are of small, fixed sets: a path is counted as the template of its route, never as it came.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from prometheus_client import (
    GC_COLLECTOR,
    PLATFORM_COLLECTOR,
    PROCESS_COLLECTOR,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
)

_PREFIX = "gitops_service_"
_REQUEST_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_LAG_SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300, 3600)


def new_registry() -> CollectorRegistry:
    """A registry of its own, so that two services in one process do not add up."""
    registry = CollectorRegistry()
    for collector in (PROCESS_COLLECTOR, PLATFORM_COLLECTOR, GC_COLLECTOR):
        registry.register(collector)
    return registry


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceMetrics:
    """The metrics of one service, from `make_metrics`."""

    registry: CollectorRegistry
    requests: Counter
    request_seconds: Histogram
    login_refusals: Counter
    items: Counter
    item_lag: Histogram
    live_lag: Histogram
    pool_connections: Gauge
    pool_size: Gauge
    links: Gauge
    streams: Gauge
    agents: Gauge
    open_tasks: Gauge
    deliveries: Gauge
    retention_removed: Counter
    retention_failures: Counter
    retention_last: Gauge
    spans_dropped: Counter


@dataclass(frozen=True, slots=True)
class _MetricRow:
    kind: type[Counter | Gauge | Histogram]
    name: str
    text: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()
    """Upper bounds in seconds, of a histogram."""

    def metric(self, registry: CollectorRegistry) -> Any:
        more: dict[str, Any] = {"buckets": self.buckets} if self.buckets else {}
        return self.kind(_PREFIX + self.name, self.text, self.labels, registry=registry, **more)


_METRICS: Mapping[str, _MetricRow] = {
    "requests": _MetricRow(
        Counter, "requests", "HTTP requests that have ended.", ("route", "method", "status")
    ),
    "request_seconds": _MetricRow(
        Histogram,
        "request_seconds",
        "Seconds until a request was answered; without streams and links.",
        ("route", "method"),
        buckets=_REQUEST_SECONDS,
    ),
    "login_refusals": _MetricRow(
        Counter,
        "login_refusals",
        "Logins that were refused, by the status of the answer.",
        ("status",),
    ),
    "items": _MetricRow(
        Counter, "items", "Items of agents' outboxes that were stored, each once.", ("kind",)
    ),
    "item_lag": _MetricRow(
        Histogram,
        "item_lag_seconds",
        "From what an agent reported to its commit, by batch.",
        buckets=_LAG_SECONDS,
    ),
    "live_lag": _MetricRow(
        Histogram,
        "live_lag_seconds",
        "From the commit of a change to its streams.",
        buckets=_LAG_SECONDS,
    ),
    "pool_connections": _MetricRow(
        Gauge, "database_connections_in_use", "Connections of this replica's pool that are in use."
    ),
    "pool_size": _MetricRow(Gauge, "database_connections_max", "Most connections of this replica."),
    "links": _MetricRow(Gauge, "links", "Links of agents that this replica holds."),
    "streams": _MetricRow(Gauge, "streams", "Event streams that are open on this replica."),
    "agents": _MetricRow(
        Gauge, "agents", "Enrolled agents by status, of all accounts.", ("status",)
    ),
    "open_tasks": _MetricRow(
        Gauge, "open_tasks", "Tasks that have not ended, by phase.", ("phase",)
    ),
    "deliveries": _MetricRow(
        Gauge, "deliveries", "Deliveries of webhooks: waiting, and dead (given up).", ("state",)
    ),
    "retention_removed": _MetricRow(
        Counter, "retention_removed_rows", "Rows older than their class is kept.", ("table",)
    ),
    "retention_failures": _MetricRow(
        Counter, "retention_failures", "Runs of the retention job that ended with an error."
    ),
    "retention_last": _MetricRow(
        Gauge,
        "retention_last_run_timestamp_seconds",
        "When the retention job of this replica ran to its end.",
    ),
    "spans_dropped": _MetricRow(
        Counter, "spans_dropped", "Spans of traces that were not exported.", ("cause",)
    ),
}
"""Field of ServiceMetrics -> its metric."""


def make_metrics() -> ServiceMetrics:
    registry = new_registry()
    metrics = {field: row.metric(registry) for field, row in _METRICS.items()}
    return ServiceMetrics(registry=registry, **metrics)
