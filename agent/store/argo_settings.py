"""Argo CD's settings, followed: the ConfigMap `argocd-cm` as it stands now.

Where it may not be read, the defaults hold and the log says so: an installation without Argo CD has
no such ConfigMap either.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec
import structlog

from agent.kube.watch import State, Subject
from handlers.application.application import Metadata
from handlers.application.argo_settings import CONFIG_MAP, ArgoSettings, read_settings

log = structlog.get_logger()


class _ConfigMap(msgspec.Struct, frozen=True):
    metadata: Metadata
    data: dict[str, str] | None = None


_CONFIG_MAP = msgspec.json.Decoder(_ConfigMap, strict=False)


@dataclass(slots=True)
class ArgoSettingsWatch:
    """A sink of the watch; `known` is set when it is certain what stands there."""

    now: ArgoSettings = field(default_factory=ArgoSettings)
    known: asyncio.Event = field(default_factory=asyncio.Event)
    listener: Callable[[], None] = lambda: None
    """Called when other settings hold than before."""
    _found: bool = False

    def begin_list(self) -> None:
        self._found = False

    def forget_versions(self) -> None:
        """No version is compared here."""

    def put(self, raw: bytes) -> None:
        found = _CONFIG_MAP.decode(raw)
        if found.metadata.name == CONFIG_MAP:
            self._found = True
            self._become(read_settings(found.data))

    def remove(self, raw: bytes) -> None:
        if _CONFIG_MAP.decode(raw).metadata.name == CONFIG_MAP:
            self._become(ArgoSettings())

    def end_list(self, resource_version: str) -> None:  # noqa: ARG002  part of the sink's protocol
        if not self._found:
            self._become(ArgoSettings())
        self.known.set()

    def on_state(self, state: State, why: str) -> None:
        if state is State.FORBIDDEN:
            log.warning("settings of Argo CD cannot be read", name=CONFIG_MAP, reason=why)
            self.known.set()

    def _become(self, settings: ArgoSettings) -> None:
        if settings == self.now:
            return
        self.now = settings
        for one in settings.unsupported:
            log.warning("setting of Argo CD not acted on", field=one.field, why=one.consequence)
        self.listener()


def argo_settings_of(namespace: str) -> Subject:
    """Return what is watched: the one ConfigMap."""
    return Subject(
        name=f"ConfigMap {CONFIG_MAP}",
        path=f"/api/v1/namespaces/{namespace}/configmaps",
        query={"fieldSelector": f"metadata.name={CONFIG_MAP}"},
    )
