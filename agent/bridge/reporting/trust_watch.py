"""TrustWatch: the ConfigMaps of the control namespace with certificates, known hosts and keys.

Each ConfigMap has a watch of its own, and only a description of its entries is kept. If the agent
may not read a ConfigMap, its entries are not reported at all: unknown is not the same as none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

import structlog

from agent.git.failures import CERTIFICATES
from agent.git.ssh_failures import KNOWN_HOSTS
from agent.kube.client import KubeClient
from agent.store.named_config_map import Data, NamedConfigMap
from bus.link.kinds import CERTIFICATE, KEY
from handlers.trust.gnupg import gnupg_keys
from handlers.trust.hosts import known_hosts, tls_certificates
from handlers.trust.signing_trust import KEYS
from handlers.trust.trusted import MOST, Reader, Trusted

log = structlog.get_logger()


@dataclass(slots=True, kw_only=True)
class TrustConfigMap:
    """The trusted entries of one ConfigMap; `is_complete` once they are known."""

    config_map: str
    kind: str
    read: Reader
    namespace: str
    changed: Callable[[str, str], None]
    """Called with kind and subject."""
    entries: dict[str, Trusted] = field(default_factory=dict)
    """By subject."""
    is_complete: bool = False
    followed: NamedConfigMap = field(init=False)

    def __post_init__(self) -> None:
        self.followed = NamedConfigMap(
            name=self.config_map, on_data=self._replace, on_refused=self._refused
        )

    def _replace(self, data: Data | None) -> None:
        self._become(data or {})
        self.is_complete = True

    def _refused(self, why: str) -> None:
        log.info(
            "trust not reported: the ConfigMap cannot be read",
            config_map=self.config_map,
            reason=why,
        )
        self.is_complete = False

    def _become(self, data: Data) -> None:
        parsed = self.read(data)
        now = {f"{self.namespace}/{one.name}": one for one in islice(parsed, MOST)}
        if next(iter(parsed), None) is not None:
            log.warning(
                "too many trusted entries: the rest is not reported", config_map=self.config_map
            )
        before, self.entries = self.entries, now
        for subject in sorted(before.keys() | now.keys()):
            if before.get(subject) != now.get(subject):
                self.changed(self.kind, subject)


@dataclass(frozen=True, slots=True)
class TrustWatch:
    config_maps: Sequence[TrustConfigMap]

    async def watch(self, client: KubeClient) -> None:
        """Follow every ConfigMap until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for sink in self.config_maps:
                work = sink.followed.watch(client, sink.namespace)
                tasks.create_task(work, name=f"trust {sink.config_map}")

    @property
    def kinds(self) -> Sequence[str]:
        """The object kinds of the entries, each once."""
        return tuple(dict.fromkeys(sink.kind for sink in self.config_maps))

    def entries(self, kind: str) -> Mapping[str, Trusted]:
        """The trusted entries of `kind` by subject."""
        return {
            subject: one
            for sink in self.config_maps
            if sink.kind == kind
            for subject, one in sink.entries.items()
        }

    def is_complete(self, kind: str) -> bool:
        return all(sink.is_complete for sink in self.config_maps if sink.kind == kind)


def trust_of(namespace: str, changed: Callable[[str, str], None]) -> TrustWatch:
    def sink(config_map: str, kind: str, read: Reader) -> TrustConfigMap:
        return TrustConfigMap(
            config_map=config_map, kind=kind, read=read, namespace=namespace, changed=changed
        )

    return TrustWatch(
        (
            sink(CERTIFICATES, CERTIFICATE.name, tls_certificates),
            sink(KNOWN_HOSTS, CERTIFICATE.name, known_hosts),
            sink(KEYS, KEY.name, gnupg_keys),
        )
    )
