"""The connections of an HTTP server are bounded in total and per address, and counted.

A full server does not turn the next one away: the connection that has waited longest without a
whole head makes room, first among those of the same address. So half-sent heads displace each
other, and who sends a whole head at once is served. Where all are at work, the address that has
most of them gives up its oldest for one that would still have fewer; only who would have most is
refused. What a sender has proven to be its own (`uncount`) is never given up. What was refused and
cut off is read by Prometheus when it asks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from bus.http.budget import HttpLimits, holder_of
from bus.http.forwarded import Network, is_trusted
from bus.http.refusals import RefusalCounts


class Admitted(Protocol):
    """A connection, as far as its place is concerned."""

    holder: str
    """Whom it counts for; empty for nobody."""
    counted: bool

    def cut(self) -> None:
        """End the connection now, which makes it leave."""
        ...


@dataclass(slots=True)
class _Address:
    """The connections of one address that nobody vouches for, oldest first."""

    open: dict[Admitted, None] = field(default_factory=dict)
    waiting: dict[Admitted, None] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class HttpConnections:
    """The connections of one server. Mappings to None are sets that keep their order."""

    limits: HttpLimits
    trusted: Sequence[Network] = ()
    """Proxies: many callers come through one, so theirs do not count for an address."""
    refused: int = 0
    displaced: int = 0
    late: int = 0
    _open: set[Admitted] = field(default_factory=set)
    _waiting: dict[Admitted, None] = field(default_factory=dict)
    _addresses: dict[str, _Address] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._open)

    def admit(self, connection: Admitted) -> bool:
        """Take the connection in, at the cost of another one where there is no room."""
        if not self._has_capacity(connection.holder):
            self.refused += 1
            return False
        self._open.add(connection)
        self.count(connection)
        self.wait(connection)
        return True

    def leave(self, connection: Admitted) -> None:
        """Forget the connection; a second time does nothing."""
        self.work(connection)
        self.uncount(connection)
        self._open.discard(connection)

    def wait(self, connection: Admitted) -> None:
        """The connection waits for a head: from now on it may have to make room."""
        self._waiting[connection] = None
        if connection.counted:
            self._addresses[connection.holder].waiting[connection] = None

    def work(self, connection: Admitted) -> None:
        """A request of the connection is at work: it keeps its place."""
        self._waiting.pop(connection, None)
        if connection.counted:
            self._addresses[connection.holder].waiting.pop(connection, None)

    def count(self, connection: Admitted) -> None:
        """Count the connection for its address."""
        if connection.holder and not connection.counted:
            self._addresses.setdefault(connection.holder, _Address()).open[connection] = None
            connection.counted = True

    def uncount(self, connection: Admitted) -> None:
        if not connection.counted:
            return
        connection.counted = False
        address = self._addresses[connection.holder]
        address.open.pop(connection)
        if not address.open:
            del self._addresses[connection.holder]

    def holder(self, peer: str) -> str:
        """Whom a connection of this peer counts for; empty for a trusted proxy."""
        return "" if is_trusted(peer, self.trusted) else holder_of(peer)

    def _has_capacity(self, holder: str) -> bool:
        """There is room, or was made; without an address of its own a newcomer has none."""
        address = self._addresses.get(holder, _Address())
        if len(address.open) >= self.limits.connections_of_address:
            return self._displace(address.waiting)
        if len(self._open) < self.limits.connections:
            return True
        return self._displace(self._waiting) or self._displace_of_most(len(address.open) + 1)

    def _displace_of_most(self, needed: int) -> bool:
        most = max(self._addresses.values(), key=lambda it: len(it.open), default=_Address())
        return len(most.open) > needed and self._displace(most.open)

    def _displace(self, candidates: dict[Admitted, None]) -> bool:
        oldest = next(iter(candidates), None)
        if oldest is None:
            return False
        self.displaced += 1
        oldest.cut()
        return True


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HttpCollector(Collector):
    """The counts of one server."""

    connections: HttpConnections
    refusals: RefusalCounts

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
