"""ShardOwnership says which keys this replica acts for: all, where shards are not divided."""

from __future__ import annotations

from collections.abc import Collection

from agent.kube.write_fence import WriteFence
from agent.replicas.shard_table import ShardTable
from agent.subscribers import Subscribers
from bus.identity import SHARD_NAMES, Key, shard_of


class ShardOwnership:
    def __init__(self, *, divided: bool = False) -> None:
        self.divided = divided
        self.fence = WriteFence()
        """Closed while this replica does not know that it is still a member."""
        self.table = ShardTable()
        """Who holds what, as it was read last; empty where shards are not divided."""
        self.gained = Subscribers[[frozenset[str]]]()
        """Called when this replica begins to act for shards."""
        self.lost = Subscribers[[frozenset[str]]]()
        """Called when it no longer does."""
        self._held: frozenset[str] = frozenset() if divided else frozenset(SHARD_NAMES)
        if divided:
            self.fence.close()

    @property
    def names(self) -> frozenset[str]:
        return self._held

    def owns(self, key: Key) -> bool:
        return not self.divided or shard_of(key.token) in self._held

    def gain(self, shards: Collection[str]) -> None:
        new = frozenset(shards) - self._held
        self._held |= new
        if new:
            self.gained.notify(new)

    def lose(self, shards: Collection[str]) -> None:
        old = frozenset(shards) & self._held
        self._held -= old
        if old:
            self.lost.notify(old)
