"""The limits of this agent, followed: the ConfigMap that allow.py reads, as it stands now."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import msgspec
import structlog

from agent.bridge.allow import CONFIG_MAP, Limits, read_limits
from agent.kube.client import KubeClient
from agent.kube.watch import KindWatch, State, Subject
from handlers.application.application import Metadata

log = structlog.get_logger()


class _ConfigMap(msgspec.Struct, frozen=True):
    metadata: Metadata
    data: dict[str, str] | None = None


_CONFIG_MAP = msgspec.json.Decoder(_ConfigMap, strict=False)
_UNREADABLE = Limits(read_only=True, problem="the agent may not read ConfigMaps here")


@dataclass(slots=True)
class LimitsBook:
    """A sink of the watch; `known` is set when it is certain what stands there."""

    now: Limits = field(default_factory=Limits)
    known: asyncio.Event = field(default_factory=asyncio.Event)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    _found: bool = False

    def begin_list(self) -> None:
        self._found = False

    def put(self, raw: bytes) -> None:
        found = _CONFIG_MAP.decode(raw)
        if found.metadata.name == CONFIG_MAP:
            self._found = True
            self._become(read_limits(found.data or {}))

    def remove(self, raw: bytes) -> None:
        if _CONFIG_MAP.decode(raw).metadata.name == CONFIG_MAP:
            self._become(Limits())

    def end_list(self, resource_version: str) -> None:  # noqa: ARG002  part of the sink's protocol
        if not self._found:
            self._become(Limits())
        self.known.set()

    def on_state(self, state: State, why: str) -> None:
        """Without the right to read them nothing is changed here."""
        if state is State.FORBIDDEN:
            log.warning("limits cannot be read: nothing that writes is done", reason=why)
            self._become(_UNREADABLE)
            self.known.set()

    def _become(self, limits: Limits) -> None:
        if limits == self.now:
            return
        self.now = limits
        self.changed.set()
        if limits.problem:
            log.warning("limits cannot be understood", problem=limits.problem)


def watch_of(client: KubeClient, namespace: str, book: LimitsBook) -> KindWatch:
    subject = Subject(
        name=f"ConfigMap {CONFIG_MAP}",
        path=f"/api/v1/namespaces/{namespace}/configmaps",
        query={"fieldSelector": f"metadata.name={CONFIG_MAP}"},
    )
    return KindWatch(client, subject, book, book.on_state)
