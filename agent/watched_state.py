"""WatchedState: what the watches fill - indexes of the cluster, and settings in ConfigMaps.

Where a service is configured, the values of every watched Secret go to the redaction, from the
first list on: nothing is reported before its secrets are known.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec
import structlog

from agent.bridge.identity.key_store import SECRET
from agent.git.credentials import SECRET_TYPE, Secret
from agent.kube.client import KubeClient
from agent.kube.cluster import KubeCluster
from agent.kube.cluster_config import LoginPermits
from agent.kube.cluster_registry import ClusterRegistry
from agent.kube.clusters import ClusterSessions
from agent.kube.health_overrides import HealthOverrides
from agent.kube.index import LiveIndex
from agent.kube.live import LiveCluster
from agent.kube.live_extent import LiveExtent
from agent.kube.own_session import OwnClusterSession, SessionSources
from agent.kube.rights import InstalledRights
from agent.kube.session_state import SessionState
from agent.kube.tracking_in_use import TrackingInUse
from agent.kube.write_fence import WriteFence
from agent.observe.app_info import AppInfo
from agent.observe.cluster_info import ClusterFigures, ClusterInfo
from agent.observe.metrics import AgentMetrics
from agent.replicas.shard_info import ShardInfo
from agent.replicas.shard_ownership import ShardOwnership
from agent.settings import Settings
from agent.store.application_writes import ApplicationPatches
from agent.store.applications import Applications
from agent.store.argo_secrets import ArgoSecrets
from agent.store.config_maps import ArgoSettingsWatch, PolicyWatch
from agent.store.connection_projects import ConnectionProjects
from agent.store.git_server_trust import GitServerTrust
from agent.store.projects import Projects
from agent.store.signing_keys import SigningKeys
from bus.identity import AppKey
from bus.link.kinds import APPLICATION, CLUSTER
from handlers.application.application import Metadata
from handlers.application.destination import DestinationCluster
from handlers.report.known_secrets import KnownSecrets, pieces_of_secret

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedState:
    """Complete once the first lists are; `lifecycle.py` runs the watches."""

    live: LiveCluster
    ownership: ShardOwnership
    clusters: ClusterSessions
    applications: Applications
    secrets: ArgoSecrets
    known_secrets: KnownSecrets
    argo_settings: ArgoSettingsWatch
    git_trust: GitServerTrust = field(default_factory=GitServerTrust)
    signing_keys: SigningKeys = field(default_factory=SigningKeys)
    policy: PolicyWatch = field(default_factory=PolicyWatch)


def watched_state(settings: Settings, client: KubeClient, metrics: AgentMetrics) -> WatchedState:
    overrides, secrets, argo_settings = HealthOverrides(), ArgoSecrets(), ArgoSettingsWatch()
    ownership = ShardOwnership(divided=settings.replicas.divide)
    tracking = TrackingInUse()
    connections = ConnectionProjects()
    projects = Projects(
        lambda: argo_settings.now.global_projects, settings.namespace, connections.of
    )
    extent = LiveExtent(namespaces=settings.destination_namespaces)
    live = LiveCluster(client, LiveIndex(settings.namespace, overrides, tracking), extent)
    clusters = ClusterSessions(
        own=_own_session(settings, client, live, ownership.fence),
        sources=SessionSources(
            new_index=lambda: LiveIndex(settings.namespace, overrides, tracking),
            own_uid=lambda: client.known_uid,
            observe=metrics.count_request,
            fence=ownership.fence,
        ),
        registry=lambda: ClusterRegistry(
            [one for one in secrets.all() if _describes_cluster(one)],
            LoginPermits(
                commands=settings.kube.exec_commands, aws_clusters=settings.kube.aws_clusters
            ),
        ),
        in_cluster_enabled=lambda: argo_settings.now.in_cluster_enabled,
    )
    watched = WatchedState(
        live=live,
        ownership=ownership,
        clusters=clusters,
        applications=Applications(
            ApplicationPatches(client.fenced(ownership.fence)),
            projects=projects,
            guards_operations=ownership.divided,
        ),
        secrets=secrets,
        argo_settings=argo_settings,
        known_secrets=_known_secrets(settings, clusters, secrets),
    )
    _measure(metrics, watched)
    _follow_settings(overrides, tracking, argo_settings)
    _provide_sessions(watched)
    _follow_connections(watched, projects, connections)
    return watched


def _own_session(
    settings: Settings, client: KubeClient, live: LiveCluster, fence: WriteFence
) -> OwnClusterSession:
    rights = InstalledRights(settings.rights_profile, settings.destination_namespaces)
    writer = KubeCluster(client.fenced(fence), live, rights)
    return OwnClusterSession(live=live, writer=writer, client=client)


def _provide_sessions(watched: WatchedState) -> None:
    """Keep the sessions in step with the Applications and the Secrets of clusters."""
    clusters, applications, ownership = watched.clusters, watched.applications, watched.ownership

    def shards_changed(_: frozenset[str]) -> None:
        applications.follow_only(ownership.owns)
        for app in applications.all():
            clusters.use(app.key, app.spec.destination if ownership.owns(app.key) else None)

    ownership.gained.subscribe(shards_changed)
    ownership.lost.subscribe(shards_changed)
    if ownership.divided:
        applications.follow_only(ownership.owns)

    def app_indexed(kind: str, subject: str) -> None:
        if kind == APPLICATION.name:
            key = AppKey(*subject.split("/", 1))
            app = applications.get(key) if ownership.owns(key) else None
            clusters.use(key, app.spec.destination if app is not None else None)

    def secret_indexed(secret: Secret) -> None:
        if _describes_cluster(secret):
            clusters.secrets_changed()

    applications.indexed.subscribe(app_indexed)
    watched.secrets.indexed.subscribe(secret_indexed)


def _follow_connections(
    watched: WatchedState, projects: Projects, connections: ConnectionProjects
) -> None:
    """Let the repositories and clusters of a project count for its Applications at once."""
    secrets = watched.secrets

    def changed(name: str) -> None:
        projects.connections_changed(name)
        if (project := projects.get(name)) is not None:
            watched.applications.project_changes.notify(None, project)

    secrets.indexed.subscribe(lambda one: connections.note(one, present=one.name in secrets))
    connections.changes.subscribe(changed)


def _describes_cluster(secret: Secret) -> bool:
    return secret.labels.get(SECRET_TYPE) == CLUSTER.secret_type


def _follow_settings(
    overrides: HealthOverrides, tracking: TrackingInUse, argo_settings: ArgoSettingsWatch
) -> None:
    def changed() -> None:
        overrides.use(argo_settings.now.health_scripts)
        tracking.use(argo_settings.now.tracking)

    argo_settings.changes.subscribe(changed)


def _measure(metrics: AgentMetrics, watched: WatchedState) -> None:
    """Register the metrics that are read from a part when they are scraped."""
    known, clusters = watched.known_secrets, watched.clusters
    metrics.known_secret_pieces.set_function(lambda: known.size)
    metrics.known_secret_pieces_refused.set_function(lambda: known.refused)
    metrics.registry.register(AppInfo(watched.applications, watched.ownership.owns))
    metrics.registry.register(ShardInfo(watched.ownership))
    metrics.registry.register(ClusterInfo(lambda: cluster_figures(clusters)))


def cluster_figures(clusters: ClusterSessions) -> Iterator[ClusterFigures]:
    own = clusters.own
    yield _figures(own.cluster, own.live, connected=not own.live.interrupted)
    for session in clusters.all():
        connected = session.state is SessionState.SUCCESSFUL
        live = session.live if session.is_open else None
        yield _figures(session.cluster, live, connected=connected)


def _figures(
    cluster: DestinationCluster, live: LiveCluster | None, *, connected: bool
) -> ClusterFigures:
    return ClusterFigures(
        server=cluster.server,
        name=cluster.name,
        connected=connected,
        version=live.kube_version() if live else "",
        kinds=live.watched_kinds if live else 0,
        objects=len(live.index) if live else 0,
    )


def _known_secrets(
    settings: Settings, clusters: ClusterSessions, secrets: ArgoSecrets
) -> KnownSecrets:
    """Learned from the Secrets of all clusters where a service is configured; else empty."""
    known = KnownSecrets(os.urandom(32))
    if settings.link.url:
        collector = SecretValueCollector(known)
        clusters.secrets_seen.subscribe(collector)
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
