"""Prometheus metrics of the service: names begin with `gitops_service_`.

Fields are the metrics themselves: whoever counts says `metrics.items.labels("fact").inc()`. Labels
are of small, fixed sets: a path is counted as the template of its route, never as it came.
"""

from __future__ import annotations

from dataclasses import dataclass, field

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
class Metrics:
    """Made by `make_metrics`."""

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


def make_metrics() -> Metrics:
    made = _Registrar()
    return Metrics(
        registry=made.registry,
        requests=made.counter(
            "requests", "HTTP requests that have ended.", "route", "method", "status"
        ),
        request_seconds=made.histogram(
            "request_seconds",
            "Seconds until a request was answered; without streams and links.",
            _REQUEST_SECONDS,
            "route",
            "method",
        ),
        login_refusals=made.counter(
            "login_refusals", "Logins that were refused, by the status of the answer.", "status"
        ),
        items=made.counter(
            "items", "Items of agents' outboxes that were stored, each once.", "kind"
        ),
        item_lag=made.histogram(
            "item_lag_seconds", "From what an agent reported to its commit, by batch.", _LAG_SECONDS
        ),
        live_lag=made.histogram(
            "live_lag_seconds", "From the commit of a change to its streams.", _LAG_SECONDS
        ),
        pool_connections=made.gauge(
            "database_connections_in_use", "Connections of this replica's pool that are in use."
        ),
        pool_size=made.gauge("database_connections_max", "Most connections of this replica."),
        links=made.gauge("links", "Links of agents that this replica holds."),
        streams=made.gauge("streams", "Event streams that are open on this replica."),
        agents=made.gauge("agents", "Enrolled agents by status, of all accounts.", "status"),
        open_tasks=made.gauge("open_tasks", "Tasks that have not ended, by phase.", "phase"),
        deliveries=made.gauge(
            "deliveries", "Deliveries of webhooks: waiting, and dead (given up).", "state"
        ),
        retention_removed=made.counter(
            "retention_removed_rows", "Rows older than their class is kept.", "table"
        ),
        retention_failures=made.counter(
            "retention_failures", "Runs of the retention job that ended with an error."
        ),
        retention_last=made.gauge(
            "retention_last_run_timestamp_seconds",
            "When the retention job of this replica ran to its end.",
        ),
    )


@dataclass(frozen=True, slots=True)
class _Registrar:
    registry: CollectorRegistry = field(default_factory=new_registry)

    def counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(_PREFIX + name, text, labels, registry=self.registry)

    def gauge(self, name: str, text: str, *labels: str) -> Gauge:
        return Gauge(_PREFIX + name, text, labels, registry=self.registry)

    def histogram(
        self, name: str, text: str, buckets: tuple[float, ...], *labels: str
    ) -> Histogram:
        return Histogram(_PREFIX + name, text, labels, buckets=buckets, registry=self.registry)
