"""The opened adapters of one agent, in the order in which they need each other.

    cluster's client -> own Secrets -> bus -> sandbox -> git -> stores

Whatever is opened here is closed in reverse by the same exit stack. No part is used before it is
whole, and no task is started: running is app.py's business.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from opentelemetry.sdk.trace.export import BatchSpanProcessor

from agent.bridge.learning import Learning
from agent.buses import Buses, open_buses, scope_of
from agent.git.credentials import SecretCredentials
from agent.git.mirrors import Mirrors, MirrorSettings
from agent.kube.client import KubeClient, kube_client
from agent.kube.cluster import KubeCluster
from agent.kube.config import connect
from agent.kube.index import LiveIndex
from agent.kube.installed_rights import InstalledRights
from agent.kube.live import Extent, Live
from agent.kube.transport import RequestSeen
from agent.observe.app_info import AppInfo
from agent.observe.health import Readiness
from agent.observe.metrics import Metrics, make_metrics
from agent.observe.store_usage import StoreWatch
from agent.observe.tracing import JsonFile, Spans
from agent.own_secrets import AgentKeys, OwnSecrets
from agent.sandbox.binary import sandbox_binary
from agent.sandbox.confinement import warn_of_missing
from agent.sandbox.limits import SandboxLimits
from agent.sandbox.pool import Sandbox
from agent.settings import Settings
from agent.store.applications import Applications
from agent.store.argo_settings import ArgoSettingsWatch
from agent.store.artifacts import ArtifactStore
from agent.store.certificates import Certificates
from agent.store.cipher import Cipher
from agent.store.later import Later
from agent.store.patching import ApplicationPatches
from agent.store.policy import PolicyWatch
from agent.store.recent import RecentArtifacts
from agent.store.redis import RedisArtifacts
from agent.store.refs import RefNotes
from agent.store.renders import RenderStore
from agent.store.secrets import Secrets
from bus.jetstream import Bus
from bus.signature import CommandKey
from handlers.compare.worlds.handler import Worlds
from handlers.control_plane.governance import Governance
from handlers.report.known import KnownSecrets


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    settings: Settings
    metrics: Metrics
    readiness: Readiness
    spans: Spans
    bus: Bus
    bridge_bus: Bus
    """The bridge's login: it may publish commands and reports, which `bus` may not."""
    store: StoreWatch
    sandbox: Sandbox
    mirrors: Mirrors
    client: KubeClient
    live: Live
    cluster: KubeCluster
    applications: Applications
    secrets: Secrets
    certificates: Certificates
    argo_settings: ArgoSettingsWatch
    artifacts: RecentArtifacts
    renders: RenderStore
    worlds: Worlds
    """Shared, so that what the server was asked once is remembered once."""
    policy: PolicyWatch
    governance: Governance
    refs: RefNotes
    redis: RedisArtifacts | None
    known_secrets: KnownSecrets
    """Values of Secrets, for the redaction of what leaves; empty where nothing does."""


@asynccontextmanager
async def open_parts(settings: Settings) -> AsyncIterator[Parts]:
    """Raises what its part raises, each naming what to do: KubeConfigError, CarrierError ..."""
    metrics, secrets = make_metrics(), Secrets()
    state = settings.state_dir
    async with AsyncExitStack() as stack:
        spans = _spans(settings)
        stack.callback(spans.close)
        client = await stack.enter_async_context(_client(settings, metrics))
        own = OwnSecrets(client=client, namespace=settings.namespace)
        keys = await own.agent_keys()
        buses = await stack.enter_async_context(_buses(settings, own, keys))
        bus = buses.agent
        sandbox = await stack.enter_async_context(_sandbox(settings))
        warn_of_missing(sandbox.capabilities)
        certificates = Certificates()
        argo_settings = ArgoSettingsWatch()
        mirrors = await stack.enter_async_context(_mirrors(state, secrets, certificates))
        index = LiveIndex(settings.namespace)
        known = _known_secrets(settings, index, secrets)
        metrics.known_secret_pieces.set_function(lambda: known.size)
        metrics.known_secret_pieces_refused.set_function(lambda: known.refused)
        redis = await _shared(settings, own, stack)
        live = Live(client, index, Extent(namespaces=settings.destination_namespaces))
        applications = Applications(ApplicationPatches(client))
        metrics.registry.register(AppInfo(applications))
        installed = InstalledRights(settings.rights_profile, settings.destination_namespaces)
        cluster = KubeCluster(client, live, installed)
        later = await stack.enter_async_context(Later())
        stored = ArtifactStore.open(
            state / "artifacts", cipher=Cipher(keys.artifacts), shared=redis, files=later
        )
        artifacts = RecentArtifacts(behind=stored)
        renders = RenderStore.open(state / "renders", later)
        policy = PolicyWatch()
        governance = Governance(
            apps=applications,
            kind=live.kind,
            policy=lambda: policy.now,
            control_namespace=settings.namespace,
            control_kinds=frozenset(settings.control_namespace_kinds),
        )
        yield Parts(
            settings=settings,
            metrics=metrics,
            readiness=Readiness(),
            spans=spans,
            bus=bus,
            bridge_bus=buses.bridge,
            store=StoreWatch(usage=bus.usage, metrics=metrics),
            sandbox=sandbox,
            mirrors=mirrors,
            client=client,
            live=live,
            cluster=cluster,
            applications=applications,
            secrets=secrets,
            certificates=certificates,
            argo_settings=argo_settings,
            artifacts=artifacts,
            renders=renders,
            worlds=Worlds(
                apps=applications,
                renders=renders,
                artifacts=artifacts,
                live=live,
                cluster=cluster,
                governance=governance,
                control_namespace=settings.namespace,
                settings=lambda: argo_settings.now,
            ),
            policy=policy,
            governance=governance,
            refs=RefNotes(),
            redis=redis,
            known_secrets=known,
        )


@asynccontextmanager
async def _buses(settings: Settings, own: OwnSecrets, keys: AgentKeys) -> AsyncIterator[Buses]:
    named, scope = settings.nats.logins_secret, scope_of(settings)
    seeds = await own.nats_logins(named, scope) if named else None
    async with open_buses(settings, CommandKey(keys.commands), seeds) as buses:
        yield buses


def _known_secrets(settings: Settings, index: LiveIndex, secrets: Secrets) -> KnownSecrets:
    """Learned from the first list on, so that nothing is reported before its secrets are known."""
    known = KnownSecrets(os.urandom(32))
    if settings.link.url:
        index.secret_seen = secrets.seen = Learning(known)
    return known


def _spans(settings: Settings) -> Spans:
    file = settings.trace.file
    return Spans(BatchSpanProcessor(JsonFile(file)) if file else None, source=settings.agent)


def _sandbox(settings: Settings) -> Sandbox:
    chosen = settings.sandbox
    limits = SandboxLimits(
        workers=chosen.workers,
        first_deadline=chosen.first_deadline,
        deadline=chosen.deadline,
        memory_bytes=chosen.memory,
        allow_missing=chosen.allow_missing,
    )
    return Sandbox(sandbox_binary(chosen.binary), limits)


def _mirrors(state: Path, secrets: Secrets, certificates: Certificates) -> Mirrors:
    settings = MirrorSettings(folder=state / "mirrors")
    return Mirrors(settings, SecretCredentials(secrets.all), certificates.for_url)


@asynccontextmanager
async def _client(settings: Settings, metrics: Metrics) -> AsyncIterator[KubeClient]:
    def seen(request: RequestSeen) -> None:
        metrics.kube_requests.labels(request.verb, str(request.code)).inc()

    connection = await connect(settings.kube.kubeconfig, settings.kube.context)
    async with kube_client(connection, ceiling=settings.kube.ceiling, observe=seen) as client:
        yield client


async def _shared(
    settings: Settings, own: OwnSecrets, stack: AsyncExitStack
) -> RedisArtifacts | None:
    if settings.redis.url is None:
        return None
    named = settings.redis.password_secret
    password = await own.redis_password(named) if named else ""
    redis = RedisArtifacts.at(settings.redis.url.get_secret_value(), password)
    stack.push_async_callback(redis.aclose)
    return redis
