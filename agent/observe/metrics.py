"""The agent's metrics have Argo CD's names where the meaning is the same, else `gitops_` ones.

They have a registry of their own: tests do not count twice, and no library's metrics show up.
Fields are the metrics themselves: `metrics.webhooks.labels(...).inc()`.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_RECONCILE = (0.25, 0.5, 1, 2, 4, 8, 16)
_HANDLER = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30)
_LAG_SECONDS = 0.25


class ApiRequest(Protocol):
    """A finished request to an API server."""

    @property
    def verb(self) -> str: ...
    @property
    def code(self) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentMetrics:
    """Made by `make_metrics`."""

    registry: CollectorRegistry
    # Argo CD's
    app_syncs: Counter
    app_reconcile: Histogram
    kube_requests: Counter
    git_requests: Counter
    git_request_seconds: Histogram
    git_fetch_failures: Counter
    webhooks: Counter
    cluster_events: Counter
    # ours
    handler_seconds: Histogram
    queue_seconds: Histogram
    dead_letters: Counter
    loop_lag: Gauge
    renders: Counter
    facts: Counter
    object_facts_left_out: Counter
    bus_connected: Gauge
    plugins: Gauge
    acting: Gauge
    store_bytes: Gauge
    store_limit_bytes: Gauge
    store_alarm: Gauge
    known_secret_pieces: Gauge
    known_secret_pieces_refused: Gauge
    spans_dropped: Counter

    def text(self) -> bytes:
        """Write the text that a scrape gets."""
        return generate_latest(self.registry)

    def count_request(self, request: ApiRequest) -> None:
        """Count a request to an API server, of whatever cluster."""
        self.kube_requests.labels(request.verb, str(request.code)).inc()


class _Row(NamedTuple):
    """One metric: its name, its help and its labels; `buckets` of a histogram."""

    name: str
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = _HANDLER


_COUNTERS = {
    "app_syncs": _Row(
        "argocd_app_sync", "Finished operations.", ("namespace", "name", "project", "phase")
    ),
    "kube_requests": _Row(
        "argocd_app_k8s_request", "Requests to the API server.", ("verb", "response_code")
    ),
    "git_requests": _Row("argocd_git_request", "Git requests.", ("repo", "request_type")),
    "git_fetch_failures": _Row("argocd_git_fetch_fail", "Failed fetches.", ("repo",)),
    "webhooks": _Row(
        "argocd_webhook_requests", "Webhook deliveries by outcome.", ("provider", "outcome")
    ),
    "cluster_events": _Row(
        "argocd_cluster_events", "Watch events of the cluster.", ("group", "kind")
    ),
    "dead_letters": _Row("gitops_dead_letters", "Dead letters written.", ("handler",)),
    "renders": _Row("gitops_renders", "Renders; cached: nothing evaluated.", ("cached",)),
    "facts": _Row("gitops_facts", "Facts published.", ("type",)),
    "object_facts_left_out": _Row(
        "gitops_object_facts_left_out", "Changes of objects without a fact: too many at once."
    ),
    "spans_dropped": _Row(
        "gitops_spans_dropped", "Spans of traces that were not exported.", ("cause",)
    ),
}
_HISTOGRAMS = {
    "app_reconcile": _Row(
        "argocd_app_reconcile", "Seconds of a comparison.", ("namespace",), _RECONCILE
    ),
    "git_request_seconds": _Row(
        "argocd_git_request_duration_seconds", "Seconds of Git requests.", ("request_type",)
    ),
    "handler_seconds": _Row(
        "gitops_handler_seconds", "Seconds of one event in a handler.", ("handler", "outcome")
    ),
    "queue_seconds": _Row(
        "gitops_queue_seconds", "Seconds from publish to the handler.", ("handler",)
    ),
}
_GAUGES = {
    "loop_lag": _Row("gitops_loop_lag_seconds", "How late the event loop's timers are."),
    "plugins": _Row("gitops_plugins", "Config management plugins whose sockets are there."),
    "bus_connected": _Row("gitops_bus_connected", "1 while NATS is connected."),
    "acting": _Row("gitops_acting", "1 while this agent acts, 0 for a standby."),
    "store_bytes": _Row("gitops_store_bytes", "Bytes in a stream of the bus.", ("store",)),
    "store_limit_bytes": _Row(
        "gitops_store_limit_bytes", "Bytes that a stream of the bus may hold.", ("store",)
    ),
    "store_alarm": _Row(
        "gitops_store_alarm", "1 while a store that holds work is 80 % full or more."
    ),
    "known_secret_pieces": _Row(
        "gitops_known_secret_pieces", "Pieces of Secrets that redaction searches for."
    ),
    "known_secret_pieces_refused": _Row(
        "gitops_known_secret_pieces_refused", "Pieces of Secrets that no longer fitted."
    ),
}


def make_metrics() -> AgentMetrics:
    """Register every row of the tables above; the rows are named like the fields."""
    registry = CollectorRegistry()
    metrics: dict[str, Any] = {
        **{it: _counter(row, registry) for it, row in _COUNTERS.items()},
        **{it: _histogram(row, registry) for it, row in _HISTOGRAMS.items()},
        **{it: _gauge(row, registry) for it, row in _GAUGES.items()},
    }
    return AgentMetrics(registry=registry, **metrics)


def _counter(row: _Row, registry: CollectorRegistry) -> Counter:
    return Counter(row.name, row.help, row.labels, registry=registry)


def _histogram(row: _Row, registry: CollectorRegistry) -> Histogram:
    return Histogram(row.name, row.help, row.labels, registry=registry, buckets=row.buckets)


def _gauge(row: _Row, registry: CollectorRegistry) -> Gauge:
    return Gauge(row.name, row.help, row.labels, registry=registry)


class LagGauge(Protocol):
    def set(self, value: float) -> None: ...


async def watch_lag(gauge: LagGauge, interval: float = _LAG_SECONDS) -> None:
    """Sleep for ever, and set the gauge to how much longer each sleep took.

    The event loop's lag is the first sign of a blocking call or of too much work.
    """
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + interval
        await asyncio.sleep(interval)
        gauge.set(max(loop.time() - due, 0.0))
