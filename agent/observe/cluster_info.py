"""The metrics `argocd_cluster_*` have a line per destination cluster, computed at each scrape."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterFigures:
    """What is known of one cluster that Applications are deployed to."""

    server: str
    name: str
    connected: bool
    version: str = ""
    kinds: int = 0
    """Kinds that are watched."""
    objects: int = 0
    """Objects that the index holds."""


class ClusterInfo(Collector):
    """Register it once: `metrics.registry.register(ClusterInfo(figures))`."""

    def __init__(self, figures: Callable[[], Iterable[ClusterFigures]]) -> None:
        self._figures = figures

    def collect(self) -> Iterator[Metric]:
        info = GaugeMetricFamily(
            "argocd_cluster_info",
            "Information about cluster.",
            labels=("server", "k8s_version", "name"),
        )
        status = GaugeMetricFamily(
            "argocd_cluster_connection_status",
            "Whether the cluster answers.",
            labels=("server", "k8s_version"),
        )
        kinds = GaugeMetricFamily(
            "argocd_cluster_api_resources", "Watched kinds.", labels=("server",)
        )
        objects = GaugeMetricFamily(
            "argocd_cluster_api_resource_objects", "Objects in the index.", labels=("server",)
        )
        for one in self._figures():
            info.add_metric((one.server, one.version, one.name), 1)
            status.add_metric((one.server, one.version), float(one.connected))
            kinds.add_metric((one.server,), one.kinds)
            objects.add_metric((one.server,), one.objects)
        yield from (info, status, kinds, objects)
