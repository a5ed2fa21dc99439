"""From the bytes of a watch into the index: one sink per kind (and namespace).

Most of a repeated list, and every event of our own writes, is what the index has already: that is
seen by its resource version, before anything is decoded in full.
"""

from __future__ import annotations

import asyncio

import msgspec

from agent.kube.index import LiveIndex, Scope
from agent.kube.summary import summarise
from bus.identity import ResourceKey
from handlers.manifest.kinds import KindInfo
from handlers.ports import LiveObject


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    namespace: str = ""
    name: str = ""
    resource_version: str = ""


class _Head(msgspec.Struct, frozen=True):
    metadata: _Metadata


_HEADS = msgspec.json.Decoder(_Head)


class IndexSink:
    """`changed` is set at each change, for kinds whose objects say which kinds there are."""

    def __init__(
        self, index: LiveIndex, kind: KindInfo, scope: Scope, changed: asyncio.Event | None
    ) -> None:
        self._index = index
        self._api_version = f"{kind.group}/{kind.version}" if kind.group else kind.version
        self._version = kind.version
        self._scope = scope
        self._changed = changed
        self._is_secret = (kind.group, kind.kind) == ("", "Secret")
        self._seen: set[str] | None = None

    def begin_list(self) -> None:
        self._seen = set()

    def forget_versions(self) -> None:
        self._index.forget_versions(self._scope)

    def put(self, raw: bytes) -> None:
        if self._is_secret:
            self._index.secret_seen(raw)
        known = self._known(raw)
        live = known or self._summary(raw)
        if self._seen is not None:
            self._seen.add(live.uid)
        if known is None:
            self._index.put(live)
            self._tell()

    def remove(self, raw: bytes) -> None:
        self._index.remove(self._summary(raw))
        self._tell()

    def end_list(self, resource_version: str) -> None:
        seen, self._seen = self._seen or set(), None
        self._index.settle(self._scope, seen, resource_version)
        self._tell()

    def _known(self, raw: bytes) -> LiveObject | None:
        """The index's own object where `raw` is no other state of it."""
        said = _HEADS.decode(raw).metadata
        key = ResourceKey(self._scope.group, self._scope.kind, said.namespace, said.name)
        known = self._index.get(key)
        if known is None or known.version != self._version:
            return None
        return known if known.resource_version == said.resource_version else None

    def _summary(self, raw: bytes) -> LiveObject:
        return summarise(raw, api_version=self._api_version, kind=self._scope.kind)

    def _tell(self) -> None:
        if self._changed is not None:
            self._changed.set()
