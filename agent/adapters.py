"""Adapters that the settings describe: stores of renders, sandbox, mirrors, spans."""

from __future__ import annotations

import os
from contextlib import AsyncExitStack
from dataclasses import dataclass

from agent.connections import Connections
from agent.decryption.object_decryption import ObjectDecryption
from agent.decryption.project_keys import KeyFinder
from agent.decryption.sops_client import SopsClient
from agent.git.hydrated_branches import HydratedBranches
from agent.git.mirrors import Mirrors, MirrorSettings
from agent.git.repository_secrets import WRITING, SecretCredentials
from agent.lfs.repository_objects import lfs_reader
from agent.observe.metrics import AgentMetrics
from agent.renderer.version_choice import SandboxVersions
from agent.settings import Settings
from agent.store.artifact_store import ArtifactCache, ArtifactStore
from agent.store.cipher import Cipher
from agent.store.files import WriteBehind
from agent.store.render_store import RenderStore
from agent.watched_state import WatchedState
from bus.spans import Spans, SpanSource, open_spans
from handlers.control_plane.governance import Governance
from sandbox.client.binary import sandbox_binary
from sandbox.client.limits import SandboxLimits
from sandbox.client.pool import Sandbox


@dataclass(frozen=True, slots=True, kw_only=True)
class Stores:
    artifacts: ArtifactCache
    renders: RenderStore


async def open_stores(
    settings: Settings, connections: Connections, stack: AsyncExitStack
) -> Stores:
    state = settings.state_dir
    later = await stack.enter_async_context(WriteBehind())
    stored = ArtifactStore.open(
        state / "artifacts",
        cipher=Cipher(connections.keys.artifacts),
        shared=connections.redis,
        files=later,
    )
    return Stores(
        artifacts=ArtifactCache(behind=stored), renders=RenderStore.open(state / "renders", later)
    )


def process_spans(settings: Settings, metrics: AgentMetrics) -> Spans:
    source = SpanSource(name=settings.agent)
    return open_spans(os.environ, source, metrics.spans_dropped, settings.trace.file)


def configured_sandbox(settings: Settings) -> Sandbox:
    chosen = settings.sandbox
    limits = SandboxLimits(
        workers=chosen.workers,
        first_deadline=chosen.first_deadline,
        deadline=chosen.deadline,
        memory_bytes=chosen.memory,
        allow_missing=chosen.allow_missing,
    )
    return Sandbox(sandbox_binary(chosen.binary), limits)


def configured_decryption(
    settings: Settings, watched: WatchedState, governance: Governance
) -> ObjectDecryption:
    known = watched.known_secrets if settings.link.url else None
    return ObjectDecryption(
        client=SopsClient(settings.sops.binary, settings.sops.deadline),
        keys=KeyFinder(
            project=watched.applications.project,
            secrets=watched.secrets.all,
            is_governed=governance.governs_project,
        ),
        learn=known.learn if known is not None else None,
    )


def configured_mirrors(settings: Settings, watched: WatchedState, sandbox: Sandbox) -> Mirrors:
    folder = MirrorSettings(folder=settings.state_dir / "mirrors")
    return Mirrors(
        folder,
        SecretCredentials(watched.secrets.all),
        watched.git_trust,
        versions=SandboxVersions(sandbox),
        lfs=lfs_reader(watched.git_trust),
    )


def configured_branches(settings: Settings, watched: WatchedState) -> HydratedBranches:
    """Build what writes branches, with the Secrets that may and with no other."""
    credentials = SecretCredentials(watched.secrets.all, WRITING)
    return HydratedBranches(settings.state_dir / "written-mirrors", credentials, watched.git_trust)
