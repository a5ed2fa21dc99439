"""From the bytes of a watch into the index: one sink per kind (and namespace)."""

from __future__ import annotations

import asyncio

from agent.kube.index import LiveIndex, Scope
from agent.kube.summary import summarise
from handlers.ports import KindInfo, LiveObject


class IndexSink:
    """`changed` is set at each change, for kinds whose objects say which kinds there are."""

    def __init__(
        self, index: LiveIndex, kind: KindInfo, scope: Scope, changed: asyncio.Event | None
    ) -> None:
        self._index = index
        self._api_version = f"{kind.group}/{kind.version}" if kind.group else kind.version
        self._scope = scope
        self._changed = changed
        self._seen: set[str] | None = None

    def begin_list(self) -> None:
        self._seen = set()

    def put(self, raw: bytes) -> None:
        live = self._summary(raw)
        if self._seen is not None:
            self._seen.add(live.uid)
        self._index.put(live)
        self._tell()

    def remove(self, raw: bytes) -> None:
        self._index.remove(self._summary(raw))
        self._tell()

    def end_list(self, resource_version: str) -> None:
        seen, self._seen = self._seen or set(), None
        self._index.settle(self._scope, seen, resource_version)
        self._tell()

    def _summary(self, raw: bytes) -> LiveObject:
        return summarise(raw, api_version=self._api_version, kind=self._scope.kind)

    def _tell(self) -> None:
        if self._changed is not None:
            self._changed.set()
