"""WatchedState: what the watches fill - indexes of the cluster, and settings in ConfigMaps.

Where a service is configured, the values of every watched Secret go to the redaction, from the
first list on: nothing is reported before its secrets are known.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field

import msgspec
import structlog

from agent.bridge.identity.key_store import SECRET
from agent.git.credentials import SECRET_TYPE
from agent.kube.client import KubeClient
from agent.kube.health_overrides import HealthOverrides
from agent.kube.index import LiveIndex
from agent.kube.live import LiveCluster, LiveExtent
from agent.observe.app_info import AppInfo
from agent.observe.metrics import AgentMetrics
from agent.settings import Settings
from agent.store.application_writes import ApplicationPatches
from agent.store.applications import Applications
from agent.store.argo_secrets import ArgoSecrets
from agent.store.config_maps import ArgoSettingsWatch, Certificates, PolicyWatch
from agent.store.projects import Projects
from handlers.application.application import Metadata
from handlers.report.known_secrets import KnownSecrets, pieces_of_secret

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedState:
    """Complete once the first lists are; `lifecycle.py` runs the watches."""

    live: LiveCluster
    applications: Applications
    secrets: ArgoSecrets
    known_secrets: KnownSecrets
    certificates: Certificates = field(default_factory=Certificates)
    argo_settings: ArgoSettingsWatch = field(default_factory=ArgoSettingsWatch)
    policy: PolicyWatch = field(default_factory=PolicyWatch)


def watched_state(settings: Settings, client: KubeClient, metrics: AgentMetrics) -> WatchedState:
    argo_settings = ArgoSettingsWatch()
    projects = Projects(lambda: argo_settings.now.global_projects)
    overrides, secrets = HealthOverrides(), ArgoSecrets()
    index = LiveIndex(settings.namespace, overrides)
    watched = WatchedState(
        live=LiveCluster(client, index, LiveExtent(namespaces=settings.destination_namespaces)),
        applications=Applications(ApplicationPatches(client), projects=projects),
        argo_settings=argo_settings,
        secrets=secrets,
        known_secrets=_known_secrets(settings, index, secrets),
    )
    _measure(metrics, watched.known_secrets, watched.applications)
    _follow_scripts(overrides, watched.argo_settings)
    return watched


def _follow_scripts(overrides: HealthOverrides, argo_settings: ArgoSettingsWatch) -> None:
    argo_settings.changes.subscribe(lambda: overrides.use(argo_settings.now.health_scripts))


def _measure(metrics: AgentMetrics, known: KnownSecrets, applications: Applications) -> None:
    """Register the metrics that are read from a part when they are scraped."""
    metrics.known_secret_pieces.set_function(lambda: known.size)
    metrics.known_secret_pieces_refused.set_function(lambda: known.refused)
    metrics.registry.register(AppInfo(applications))


def _known_secrets(settings: Settings, index: LiveIndex, secrets: ArgoSecrets) -> KnownSecrets:
    """Learned from the Secrets of the cluster where a service is configured; else empty."""
    known = KnownSecrets(os.urandom(32))
    if settings.link.url:
        collector = SecretValueCollector(known)
        index.secrets_seen.subscribe(collector)
        secrets.seen.subscribe(collector)
    return known


class _Secret(msgspec.Struct, frozen=True):
    metadata: Metadata
    data: dict[str, str] | None = None


_SECRET = msgspec.json.Decoder(_Secret, strict=False)


@dataclass(frozen=True, slots=True)
class SecretValueCollector:
    known: KnownSecrets

    def __call__(self, raw: bytes) -> None:
        try:
            secret = _SECRET.decode(raw)
        except msgspec.MsgspecError:
            return
        ours = SECRET_TYPE in secret.metadata.labels or secret.metadata.name == SECRET
        full = self.known.refused > 0
        self.known.learn(pieces_of_secret(secret.data or {}, ours=ours))
        if self.known.refused and not full:
            log.warning("not all values of Secrets are masked", alarm=self.known.alarm)
