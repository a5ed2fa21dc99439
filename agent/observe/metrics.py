"""Prometheus metrics: Argo CD's names where the meaning is the same, `gitops_` for what is ours.

One registry of our own, so that nothing counts twice in tests and nothing of a library's shows up.
Fields are the metrics themselves: whoever counts says `metrics.webhooks.labels(...).inc()`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_RECONCILE = (0.25, 0.5, 1, 2, 4, 8, 16)
_ROOM = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30)


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
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
    room_seconds: Histogram
    queue_seconds: Histogram
    dead_letters: Counter
    loop_lag: Gauge
    renders: Counter
    facts: Counter
    bus_connected: Gauge
    acting: Gauge
    store_bytes: Gauge
    store_limit_bytes: Gauge
    store_alarm: Gauge
    known_secret_pieces: Gauge
    known_secret_pieces_refused: Gauge

    def text(self) -> bytes:
        """What a scrape gets."""
        return generate_latest(self.registry)


@dataclass(frozen=True, slots=True)
class _Factory:
    """Short forms for one registry."""

    registry: CollectorRegistry = field(default_factory=CollectorRegistry)

    def counter(self, name: str, help_: str, *labels: str) -> Counter:
        return Counter(name, help_, labels, registry=self.registry)

    def gauge(self, name: str, help_: str, *labels: str) -> Gauge:
        return Gauge(name, help_, labels, registry=self.registry)

    def histogram(
        self, name: str, help_: str, *labels: str, buckets: tuple[float, ...] = _ROOM
    ) -> Histogram:
        return Histogram(name, help_, labels, registry=self.registry, buckets=buckets)


def make_metrics() -> Metrics:
    make = _Factory()
    return Metrics(
        registry=make.registry,
        app_syncs=make.counter(
            "argocd_app_sync", "Finished operations.", "namespace", "name", "project", "phase"
        ),
        app_reconcile=make.histogram(
            "argocd_app_reconcile", "Seconds of a comparison.", "namespace", buckets=_RECONCILE
        ),
        kube_requests=make.counter(
            "argocd_app_k8s_request", "Requests to the API server.", "verb", "response_code"
        ),
        git_requests=make.counter("argocd_git_request", "Git requests.", "repo", "request_type"),
        git_request_seconds=make.histogram(
            "argocd_git_request_duration_seconds", "Seconds of Git requests.", "request_type"
        ),
        git_fetch_failures=make.counter("argocd_git_fetch_fail", "Failed fetches.", "repo"),
        webhooks=make.counter(
            "argocd_webhook_requests", "Webhook deliveries by their end.", "provider", "outcome"
        ),
        cluster_events=make.counter(
            "argocd_cluster_events", "Watch events of the cluster.", "group", "kind"
        ),
        room_seconds=make.histogram(
            "gitops_room_seconds", "Seconds of one event in a room.", "room", "outcome"
        ),
        queue_seconds=make.histogram(
            "gitops_queue_seconds", "Seconds from publish to the room's door.", "room"
        ),
        dead_letters=make.counter("gitops_dead_letters", "Dead letters written.", "room"),
        loop_lag=make.gauge("gitops_loop_lag_seconds", "How late the event loop's timers are."),
        renders=make.counter("gitops_renders", "Renders; cached: nothing evaluated.", "cached"),
        facts=make.counter("gitops_facts", "Facts said.", "type"),
        bus_connected=make.gauge("gitops_bus_connected", "1 while NATS is connected."),
        acting=make.gauge("gitops_acting", "1 while this agent acts, 0 for a standby."),
        store_bytes=make.gauge("gitops_store_bytes", "Bytes in a stream of the bus.", "store"),
        store_limit_bytes=make.gauge(
            "gitops_store_limit_bytes", "Bytes that a stream of the bus may hold.", "store"
        ),
        store_alarm=make.gauge(
            "gitops_store_alarm", "1 while a store that holds work is 80 % full or more."
        ),
        known_secret_pieces=make.gauge(
            "gitops_known_secret_pieces", "Pieces of Secrets that redaction searches for."
        ),
        known_secret_pieces_refused=make.gauge(
            "gitops_known_secret_pieces_refused", "Pieces of Secrets that no longer fitted."
        ),
    )
