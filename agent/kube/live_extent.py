"""LiveExtent says what of a cluster is watched: kinds and namespaces. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from agent.kube.watch_scope import WatchScope
from handlers.manifest.exclusions import ResourceFilter
from handlers.manifest.kinds import KindInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveExtent:
    """The extent of the watches; empty `namespaces` means all of them."""

    excluded: ResourceFilter = field(default_factory=ResourceFilter)
    namespaces: tuple[str, ...] = ()
    cluster_resources: bool = True
    """Whether kinds without a namespace are watched too, where there are `namespaces`."""
    look_every: float = 60.0
    """Seconds between reads of discovery where definitions may not be seen: three requests each."""
    freeze: bool = True
    """Whether to exempt the first lists from garbage collection, which stops the process once."""

    def scopes(self, kind: KindInfo, server: str) -> Iterator[WatchScope]:
        """Return the scopes of the watches of a kind; none where it is not watched."""
        if not is_watchable(kind) or self.excluded.excludes(kind.group, kind.kind, server):
            return
        if self.namespaces and not (kind.namespaced or self.cluster_resources):
            return
        spaces = self.namespaces if kind.namespaced else ()
        for space in spaces or ("",):
            yield WatchScope(group=kind.group, kind=kind.kind, namespace=space)


def is_watchable(kind: KindInfo) -> bool:
    return {"list", "watch"}.issubset(kind.verbs)
