"""What an HTTP server refused and cut off, as Prometheus metrics: read when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from bus.http.connections import Connections
from bus.http.refusals import Refusals


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HttpCollector(Collector):
    """The counts of one server."""

    connections: Connections
    refusals: Refusals

    def collect(self) -> Iterator[Metric]:
        """Read the counts as they are now."""
        yield GaugeMetricFamily(
            "gitops_http_connections", "Open connections.", value=len(self.connections)
        )
        cut = CounterMetricFamily(
            "gitops_http_connections_cut",
            "Connections cut off: late, displaced by a newer one, or refused at the door.",
            labels=("cause",),
        )
        for cause in ("late", "displaced", "refused"):
            cut.add_metric((cause,), getattr(self.connections, cause))
        yield cut
        refused = CounterMetricFamily(
            "gitops_http_refusals", "Refused requests.", labels=("event", "reason")
        )
        for (event, reason), count in self.refusals.totals.items():
            refused.add_metric((event, reason), count)
        yield refused


@contextmanager
def measured(registry: CollectorRegistry | None, collector: HttpCollector) -> Iterator[None]:
    """Show the counts in the registry as long as the block lasts."""
    if registry is None:
        yield
        return
    registry.register(collector)
    try:
        yield
    finally:
        registry.unregister(collector)
