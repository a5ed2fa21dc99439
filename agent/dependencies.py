"""The opened adapters of one agent, in the order in which they need each other.

    cluster's client -> own Secrets -> bus -> sandbox -> git -> stores

All of them are closed in reverse by the same exit stack. No part is used before it is complete, and
no task is started: `lifecycle.py` runs them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from agent.adapters import (
    Stores,
    configured_branches,
    configured_decryption,
    configured_mirrors,
    configured_sandbox,
    open_stores,
    process_spans,
)
from agent.agent_secrets import own_secrets
from agent.bridge.identity.key_store import SECRET as LINK_KEYS
from agent.bridge.tasks.task_traces import TaskTraces
from agent.clock import SystemClock
from agent.connections import Connections, open_connections
from agent.decryption.object_decryption import ObjectDecryption
from agent.download.disk import DownloadDisk, open_disk
from agent.download.services import DownloadServices
from agent.git.gnupg import Gnupg
from agent.git.hydrated_branches import HydratedBranches
from agent.git.mirrors import Mirrors
from agent.git.refs import ResolvedRefs
from agent.git.repository_secrets import SecretCredentials
from agent.git.signatures import GitSignatures
from agent.helm.provenance import ProvenanceChecks
from agent.kube.client import KubeClient
from agent.kube.clusters import ClusterSessions
from agent.kube.live import LiveCluster
from agent.observe.health import Readiness, StoreWatch
from agent.observe.metrics import AgentMetrics, make_metrics
from agent.plugins.opened_plugins import opened_plugins
from agent.plugins.plugin_sidecars import PluginSidecars
from agent.renderer.jq_paths import SandboxJqPaths
from agent.renderer.version_choice import SandboxVersions
from agent.replicas.repository_parts import RepositoryParts
from agent.replicas.shard_ownership import ShardOwnership
from agent.settings import Settings
from agent.sources import SourceReaders, source_readers
from agent.store.applications import Applications
from agent.store.argo_secrets import ArgoSecrets
from agent.store.artifact_store import ArtifactCache
from agent.store.config_maps import ArgoSettingsWatch, PolicyWatch
from agent.store.git_server_trust import GitServerTrust
from agent.store.redis_artifacts import RedisArtifacts
from agent.store.render_store import RenderStore
from agent.store.repositories_in_use import RepositoriesInUse
from agent.store.signing_keys import SigningKeys
from agent.watched_state import WatchedState, watched_state
from bus.jetstream import Bus
from bus.spans import Spans
from handlers.application.artifact_signers import signers_of
from handlers.comparison.reader import ComparisonReader
from handlers.control_plane.governance import Governance
from handlers.render.source_proof import SourceProver
from handlers.report.known_secrets import KnownSecrets
from sandbox.client.confinement import warn_of_missing
from sandbox.client.pool import Sandbox


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDependencies:
    settings: Settings
    metrics: AgentMetrics
    readiness: Readiness
    spans: Spans
    bus: Bus
    bridge_bus: Bus
    """The bridge's login: it may publish commands and reports, which `bus` may not."""
    ownership: ShardOwnership
    """Which Applications this replica acts for: all, unless replicas divide them."""
    parts_of_repositories: RepositoryParts
    store: StoreWatch
    sandbox: Sandbox
    plugins: PluginSidecars
    mirrors: Mirrors
    branches: HydratedBranches
    sources: SourceReaders
    client: KubeClient
    live: LiveCluster
    """Of the cluster that the agent runs in."""
    clusters: ClusterSessions
    applications: Applications
    secrets: ArgoSecrets
    git_trust: GitServerTrust
    signing_keys: SigningKeys
    prover: SourceProver
    decryption: ObjectDecryption
    argo_settings: ArgoSettingsWatch
    artifacts: ArtifactCache
    renders: RenderStore
    in_use: RepositoriesInUse
    comparisons: ComparisonReader
    """Shared, so that an answer of the API server is remembered once."""
    policy: PolicyWatch
    governance: Governance
    refs: ResolvedRefs
    redis: RedisArtifacts | None
    known_secrets: KnownSecrets
    """Values of Secrets, to redact reports to the service; empty without a service."""
    task_traces: TaskTraces = field(default_factory=TaskTraces)


@asynccontextmanager
async def open_dependencies(settings: Settings) -> AsyncIterator[AgentDependencies]:
    """Open all adapters; raises their errors, e.g. KubeConfigError, CarrierError."""
    metrics = make_metrics()
    async with AsyncExitStack() as stack:
        spans = process_spans(settings, metrics)
        stack.push_async_callback(asyncio.to_thread, spans.close)
        connections = await open_connections(settings, metrics, spans.sampler, stack)
        sandbox = await stack.enter_async_context(configured_sandbox(settings))
        warn_of_missing(sandbox.capabilities)
        watched = watched_state(settings, connections.client, metrics)
        opened = _Opened(
            settings=settings,
            metrics=metrics,
            spans=spans,
            connections=connections,
            sandbox=sandbox,
            watched=watched,
            mirrors=await stack.enter_async_context(configured_mirrors(settings, watched, sandbox)),
            branches=await stack.enter_async_context(configured_branches(settings, watched)),
            charts=await asyncio.to_thread(open_disk, settings.state_dir / "charts"),
            stores=await open_stores(settings, connections, stack),
            gnupg=Gnupg(settings.state_dir / "gnupg"),
        )
        yield opened.dependencies()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Opened:
    """Everything that has to be closed, from which the dependencies are put together."""

    settings: Settings
    metrics: AgentMetrics
    spans: Spans
    connections: Connections
    sandbox: Sandbox
    watched: WatchedState
    mirrors: Mirrors
    branches: HydratedBranches
    charts: DownloadDisk
    stores: Stores
    gnupg: Gnupg

    def dependencies(self) -> AgentDependencies:
        watched, connections = self.watched, self.connections
        bus, governance = connections.buses.agent, self._governance()
        in_use = RepositoriesInUse(watched.applications, self.stores.renders)
        decryption = configured_decryption(self.settings, self.watched, governance)
        return AgentDependencies(
            settings=self.settings,
            metrics=self.metrics,
            readiness=Readiness(),
            spans=self.spans,
            bus=bus,
            bridge_bus=connections.buses.bridge,
            ownership=watched.ownership,
            parts_of_repositories=RepositoryParts(
                apps_of=in_use.of_repository, ownership=watched.ownership
            ),
            store=StoreWatch(usage=bus.usage, metrics=self.metrics),
            sandbox=self.sandbox,
            plugins=opened_plugins(self.settings),
            mirrors=self.mirrors,
            branches=self.branches,
            sources=self._sources(),
            client=connections.client,
            live=watched.live,
            clusters=watched.clusters,
            applications=watched.applications,
            secrets=watched.secrets,
            git_trust=watched.git_trust,
            signing_keys=watched.signing_keys,
            prover=self._prover(),
            decryption=decryption,
            argo_settings=watched.argo_settings,
            artifacts=self.stores.artifacts,
            renders=self.stores.renders,
            in_use=in_use,
            comparisons=self._comparisons(governance, decryption),
            policy=watched.policy,
            governance=governance,
            refs=ResolvedRefs(),
            redis=connections.redis,
            known_secrets=watched.known_secrets,
        )

    def _sources(self) -> SourceReaders:
        services = DownloadServices(
            disk=self.charts,
            credentials=SecretCredentials(self.watched.secrets.all),
            trust=self.watched.git_trust,
            outcomes=self.mirrors.outcomes,
            versions=SandboxVersions(self.sandbox),
        )
        applications, keys = self.watched.applications, self.watched.signing_keys
        return source_readers(
            self.mirrors,
            services,
            lambda address, project: signers_of(
                applications.project(project), address, keys.now.fingerprint
            ),
            ProvenanceChecks(self.gnupg, lambda: keys.now),
        )

    def _prover(self) -> SourceProver:
        signatures = GitSignatures(self.mirrors, self.gnupg, lambda: self.watched.signing_keys.now)
        project = self.watched.applications.project
        return SourceProver(project=project, signatures=signatures, clock=SystemClock())

    def _governance(self) -> Governance:
        settings, watched = self.settings, self.watched
        return Governance(
            apps=watched.applications,
            clusters=watched.clusters,
            policy=lambda: watched.policy.now,
            control_namespace=settings.namespace,
            own_secrets=frozenset({LINK_KEYS, *own_secrets(settings)}),
            control_kinds=frozenset(settings.control_namespace_kinds),
            tracking=lambda: watched.argo_settings.now.tracking,
        )

    def _comparisons(
        self, governance: Governance, decryption: ObjectDecryption
    ) -> ComparisonReader:
        watched, stores = self.watched, self.stores
        return ComparisonReader(
            apps=watched.applications,
            renders=stores.renders,
            artifacts=stores.artifacts,
            clusters=watched.clusters,
            governance=governance,
            control_namespace=self.settings.namespace,
            jq=SandboxJqPaths(self.sandbox),
            decryption=decryption,
            settings=lambda: watched.argo_settings.now,
        )
