"""Trust: the ConfigMaps of the control namespace with certificates, known hosts and public keys.

Each is followed by a watch of its own; of what it holds only the description is kept. Where we may
not read them nothing is told of them, which is something else than that there are none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

import msgspec
import structlog

from agent.kube.client import KubeClient
from agent.kube.watch import KindWatch, State, Subject
from handlers.application.application import Metadata
from handlers.trust.certificates import tls_certificates
from handlers.trust.gnupg import gnupg_keys
from handlers.trust.known_hosts import known_hosts
from handlers.trust.trusted import CERTIFICATE, KEY, MOST, Reader, Trusted

log = structlog.get_logger()

CERTIFICATES, HOSTS = "argocd-tls-certs-cm", "argocd-ssh-known-hosts-cm"
KEYS = "argocd-gpg-keys-cm"


class _ConfigMap(msgspec.Struct, frozen=True):
    metadata: Metadata
    data: dict[str, str] | None = None


_CONFIG_MAP = msgspec.json.Decoder(_ConfigMap, strict=False)


@dataclass(slots=True, kw_only=True)
class TrustBook:
    """A sink of the watch of one ConfigMap; `known`: it is certain what stands there."""

    config_map: str
    kind: str
    read: Reader
    namespace: str
    changed: Callable[[str, str], None]
    """Called with kind and subject."""
    found: dict[str, Trusted] = field(default_factory=dict)
    """By subject."""
    known: bool = False
    _listed: bool = False

    def begin_list(self) -> None:
        self._listed = False

    def forget_versions(self) -> None:
        """No version is compared here."""

    def put(self, raw: bytes) -> None:
        said = _CONFIG_MAP.decode(raw)
        if said.metadata.name == self.config_map:
            self._listed = True
            self._become(said.data or {})

    def remove(self, raw: bytes) -> None:
        if _CONFIG_MAP.decode(raw).metadata.name == self.config_map:
            self._become({})

    def end_list(self, resource_version: str) -> None:  # noqa: ARG002  part of the sink's protocol
        if not self._listed:
            self._become({})
        self.known = True

    def on_state(self, state: State, why: str) -> None:
        if state is State.FORBIDDEN:
            log.info("not told: it cannot be read", config_map=self.config_map, reason=why)
            self.known = False

    async def watch(self, client: KubeClient) -> None:
        """Until cancelled."""
        subject = Subject(
            name=f"ConfigMap {self.config_map}",
            path=f"/api/v1/namespaces/{self.namespace}/configmaps",
            query={"fieldSelector": f"metadata.name={self.config_map}"},
        )
        await KindWatch(client, subject, self, self.on_state).run()

    def _become(self, data: Mapping[str, str]) -> None:
        entries = self.read(data)
        now = {f"{self.namespace}/{one.name}": one for one in islice(entries, MOST)}
        if next(iter(entries), None) is not None:
            log.warning("too many entries: the rest is not told", config_map=self.config_map)
        before, self.found = self.found, now
        for subject in sorted(before.keys() | now.keys()):
            if before.get(subject) != now.get(subject):
                self.changed(self.kind, subject)


@dataclass(frozen=True, slots=True)
class Trust:
    books: Sequence[TrustBook]

    async def watch(self, client: KubeClient) -> None:
        """For ever."""
        async with asyncio.TaskGroup() as tasks:
            for book in self.books:
                tasks.create_task(book.watch(client), name=f"trust {book.config_map}")

    def found(self, kind: str) -> Mapping[str, Trusted]:
        """By subject."""
        return {
            subject: one
            for book in self.books
            if book.kind == kind
            for subject, one in book.found.items()
        }

    def known(self, kind: str) -> bool:
        return all(book.known for book in self.books if book.kind == kind)


def trust_of(namespace: str, changed: Callable[[str, str], None]) -> Trust:
    def book(config_map: str, kind: str, read: Reader) -> TrustBook:
        return TrustBook(
            config_map=config_map, kind=kind, read=read, namespace=namespace, changed=changed
        )

    return Trust(
        (
            book(CERTIFICATES, CERTIFICATE, tls_certificates),
            book(HOSTS, CERTIFICATE, known_hosts),
            book(KEYS, KEY, gnupg_keys),
        )
    )
