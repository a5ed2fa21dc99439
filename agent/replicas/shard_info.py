"""The metric `gitops_shard_term` has a line for each shard that this replica holds."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from agent.replicas.shard_ownership import ShardOwnership


class ShardInfo(Collector):
    """Register it once; it has no lines where shards are not divided."""

    def __init__(self, ownership: ShardOwnership) -> None:
        self._ownership = ownership

    def collect(self) -> Iterator[Metric]:
        family = GaugeMetricFamily(
            "gitops_shard_term",
            "The how manieth holder of the shard this replica is; a line for each that it holds.",
            labels=("shard",),
        )
        for shard in sorted(self._ownership.names) if self._ownership.divided else ():
            family.add_metric((shard,), self._ownership.table.shards[shard].term)
        yield family
