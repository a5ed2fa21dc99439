"""WatchScope: what one list and its watch are about."""

from __future__ import annotations

import msgspec

from bus.identity import ResourceKey


class WatchScope(msgspec.Struct, frozen=True, kw_only=True):
    """The extent of one list: a kind, in all namespaces or in one."""

    group: str
    kind: str
    namespace: str = ""

    def covers(self, key: ResourceKey) -> bool:
        return not self.namespace or key.namespace == self.namespace
