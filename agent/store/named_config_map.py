"""NamedConfigMap follows one ConfigMap of the control namespace by its name.

`on_data` gets the data, or None where the ConfigMap does not exist; it is called after each change
and must not block.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import msgspec

from agent.kube.client import KubeClient
from agent.kube.watch import KindWatch, WatchState, WatchTarget
from handlers.application.application import Metadata

Data = Mapping[str, str]


def data_of(raw: bytes) -> Data:
    """Return the data of a ConfigMap, which has none where it is empty."""
    return _CONFIG_MAP.decode(raw).data or {}


class _ConfigMap(msgspec.Struct, frozen=True):
    metadata: Metadata
    data: dict[str, str] | None = None


_CONFIG_MAP = msgspec.json.Decoder(_ConfigMap, strict=False)


@dataclass(slots=True, kw_only=True)
class NamedConfigMap:
    """A sink of the watch; `known` is set when the content is known."""

    name: str
    on_data: Callable[[Data | None], None]
    on_refused: Callable[[str], None]
    """Called with the reason where the ConfigMap may not be read."""
    known: asyncio.Event = field(default_factory=asyncio.Event)
    _found: bool = False

    async def watch(self, client: KubeClient, namespace: str) -> None:
        """Follow the ConfigMap until cancelled."""
        target = WatchTarget(
            name=f"ConfigMap {self.name}",
            path=f"/api/v1/namespaces/{namespace}/configmaps",
            query={"fieldSelector": f"metadata.name={self.name}"},
        )
        await KindWatch(client, target, self, self.on_state).run()

    def begin_list(self) -> None:
        self._found = False

    def forget_versions(self) -> None:
        """Do nothing: no version is compared."""

    def put(self, raw: bytes) -> None:
        found = _CONFIG_MAP.decode(raw)
        if found.metadata.name == self.name:
            self._found = True
            self.on_data(found.data or {})

    def remove(self, raw: bytes) -> None:
        if _CONFIG_MAP.decode(raw).metadata.name == self.name:
            self.on_data(None)

    def end_list(self, resource_version: str) -> None:  # noqa: ARG002  part of the sink's protocol
        if not self._found:
            self.on_data(None)
        self.known.set()

    def on_state(self, state: WatchState, why: str) -> None:
        if state is WatchState.FORBIDDEN:
            self.on_refused(why)
            self.known.set()
