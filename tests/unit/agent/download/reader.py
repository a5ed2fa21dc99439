"""The readers of charts and artifacts as an agent has them, with Secrets that a test chooses."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web
from aiohttp.test_utils import TestServer

from agent.clock import SystemClock
from agent.download.disk import open_disk
from agent.download.services import DownloadServices
from agent.git.credentials import SECRET_TYPE, Secret
from agent.git.fetch_outcomes import FetchOutcomes
from agent.git.mirrors import Mirrors, MirrorSettings
from agent.git.repository_secrets import SecretCredentials
from agent.git.server_trust import MachineTrust
from agent.helm.provenance import ProvenanceChecks
from agent.renderer.version_choice import SandboxVersions
from agent.sources import SourceReaders, source_readers
from handlers.application.artifact_signers import Signers
from handlers.application.spec import Source
from handlers.ports import CommitTree, RepositoryAccess
from sandbox.client import Sandbox

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(slots=True)
class PrivateTrust(MachineTrust):
    pem: str = ""

    def authority(self, _url: str) -> str:
        return self.pem


@dataclass(slots=True, kw_only=True)
class SourceReading:
    sources: SourceReaders
    outcomes: FetchOutcomes
    trust: PrivateTrust
    secrets: list[Secret] = field(default_factory=list)

    def access(self, url: str, chart: str = "") -> RepositoryAccess:
        return self.sources.access(Source(repo_url=url, chart=chart), "shop")

    async def resolved(self, url: str, target: str, chart: str = "") -> str:
        return await self.sources.resolve(self.access(url, chart), target)

    async def files(self, url: str, target: str, chart: str = "") -> CommitTree:
        access = self.access(url, chart)
        return await self.sources.tree(access, await self.sources.resolve(access, target))

    def secret(self, url: str, *, kind: str = "repository", **data: str) -> None:
        labels = {SECRET_TYPE: kind}
        fields = {"url": url, "type": "helm", **data}
        self.secrets.append(Secret(namespace="argocd", name="helm", labels=labels, data=fields))


def source_reading(
    folder: Path,
    sandbox: Sandbox,
    signers: Signers = (),
    provenance: ProvenanceChecks | None = None,
) -> SourceReading:
    """Build the readers; `signers` have to have signed whatever is read."""
    secrets: list[Secret] = []
    credentials = SecretCredentials(lambda: secrets)
    trust, outcomes = PrivateTrust(), FetchOutcomes(SystemClock())
    services = DownloadServices(
        disk=open_disk(folder / "charts"),
        credentials=credentials,
        trust=trust,
        outcomes=outcomes,
        versions=SandboxVersions(sandbox),
    )
    mirrors = Mirrors(MirrorSettings(folder=folder / "mirrors"), credentials)
    sources = source_readers(mirrors, services, lambda _address, _project: signers, provenance)
    return SourceReading(sources=sources, outcomes=outcomes, trust=trust, secrets=secrets)


def text_of(tree: CommitTree, path: str) -> str:
    entry = tree.entry(path)
    assert entry is not None, path
    return tree.read(entry.oid).decode()


@asynccontextmanager
async def answering(answer: Answer) -> AsyncIterator[str]:
    """A server of whatever a test wants: it stands for one that means no good."""
    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    server = TestServer(app)
    await server.start_server()
    try:
        yield str(server.make_url("/charts"))
    finally:
        await server.close()
