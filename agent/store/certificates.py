"""The certificates that Argo CD's ConfigMap `argocd-tls-certs-cm` names for Git servers.

One key for each host, without its port, holding certificates in PEM: what such a server shows is
trusted if one of them has signed it, and nothing else is. Where the ConfigMap may not be read, only
the authorities of this machine are trusted, and the log says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import msgspec
import structlog

from agent.git.failures import CERTIFICATES
from agent.kube.watch import State, Subject
from handlers.application.application import Metadata

log = structlog.get_logger()


class _ConfigMap(msgspec.Struct, frozen=True):
    metadata: Metadata
    data: dict[str, str] | None = None


_CONFIG_MAP = msgspec.json.Decoder(_ConfigMap, strict=False)


@dataclass(slots=True)
class Certificates:
    """A sink of the watch; `known` is set when it is certain what stands there."""

    by_host: Mapping[str, str] = field(default_factory=dict)
    known: asyncio.Event = field(default_factory=asyncio.Event)
    _found: bool = False

    def for_url(self, url: str) -> str:
        """What a server is trusted by, in PEM; empty: by this machine's own authorities."""
        return self.by_host.get(urlsplit(url).hostname or "", "")

    def begin_list(self) -> None:
        self._found = False

    def forget_versions(self) -> None:
        """No version is compared here."""

    def put(self, raw: bytes) -> None:
        found = _CONFIG_MAP.decode(raw)
        if found.metadata.name == CERTIFICATES:
            self._found = True
            self.by_host = {host.lower(): pem for host, pem in (found.data or {}).items() if pem}

    def remove(self, raw: bytes) -> None:
        if _CONFIG_MAP.decode(raw).metadata.name == CERTIFICATES:
            self.by_host = {}

    def end_list(self, resource_version: str) -> None:  # noqa: ARG002  part of the sink's protocol
        if not self._found:
            self.by_host = {}
        self.known.set()

    def on_state(self, state: State, why: str) -> None:
        if state is State.FORBIDDEN:
            log.warning("certificates of Git servers cannot be read", name=CERTIFICATES, reason=why)
            self.known.set()


def certificates_of(namespace: str) -> Subject:
    return Subject(
        name=f"ConfigMap {CERTIFICATES}",
        path=f"/api/v1/namespaces/{namespace}/configmaps",
        query={"fieldSelector": f"metadata.name={CERTIFICATES}"},
    )
