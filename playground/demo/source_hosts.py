"""Where the scene `sources` reads from beside the Git host: a registry, an SSH server, a signer.

The registry is the CNCF's and tells the agent of pushes by itself, the SSH server is OpenSSH's, and
commits are signed with GnuPG. They are opened for an agent that runs already.
"""

from __future__ import annotations

import asyncio
import secrets
import shutil
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from playground.build import build_registry, ignore_progress
from playground.charthost import packaged
from playground.demo.repository import NAMESPACE
from playground.demo.site import DemoSite
from playground.demo.source_objects import CHART, CHARTS, chart_files
from playground.githost import GitHost, HostedRepository
from playground.gnupg import GnupgSigner, SigningKey
from playground.pushes import PushWebhook
from playground.registry import OciRegistry, oci_registry
from playground.sshhost import SshHost, SshKey, ssh_host
from playground.toolchain import ToolMissingError

_PROGRAMS = {"sshd": "openssh-server", "ssh": "openssh-client", "gpg": "gpg gpg-agent"}
_MORE_FOLDERS = "/usr/sbin"
SIGNER = "Ada"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceHosts:
    registry: OciRegistry
    ssh: SshHost
    deploy_key: SshKey
    ledger: HostedRepository
    """The repository that is read by SSH."""
    payments: HostedRepository
    """The repository whose commits have to be signed."""
    gnupg: GnupgSigner
    signing_key: SigningKey

    @property
    def ledger_url(self) -> str:
        return self.ssh.url(self.ledger.name)

    async def push_chart(self, version: str) -> None:
        """Push a version of the chart, as `helm push` does."""
        archive = packaged(CHART, version, chart_files())
        await self.registry.push_chart(f"{CHARTS}/{CHART}", version, archive)

    def sign(self, content: bytes) -> bytes:
        return self.gnupg.sign(content, self.signing_key.fingerprint)


def require_programs() -> None:
    """Raise ToolMissingError, which says what to install, where a program is not here."""
    missing = [
        package
        for program, package in _PROGRAMS.items()
        if shutil.which(program) is None and shutil.which(program, path=_MORE_FOLDERS) is None
    ]
    if missing:
        raise ToolMissingError(
            "the scene `sources` uses SSH and GnuPG, which are not all here: "
            f"apt-get install {' '.join(missing)}"
        )


@asynccontextmanager
async def open_source_hosts(
    folder: Path, git: GitHost, site: DemoSite, webhook: PushWebhook
) -> AsyncIterator[SourceHosts]:
    """Everything runs, and the agent hears of pushes; the repositories are empty.

    `webhook` is that of the Git host.
    """
    async with AsyncExitStack() as stack:
        gnupg = GnupgSigner(await asyncio.to_thread(_own_folder, folder / "gnupg"))
        stack.callback(gnupg.close)
        fingerprint = await asyncio.to_thread(gnupg.key, SIGNER)
        registry = await stack.enter_async_context(_open_registry(folder, site))
        ssh = await stack.enter_async_context(ssh_host(folder / "ssh", git.folder))
        deploy_key = SshKey()
        ssh.authorize(deploy_key)
        ledger, payments = (git.create(f"demo/{name}") for name in ("ledger", "payments"))
        ledger.webhook = payments.webhook = webhook
        yield SourceHosts(
            registry=registry,
            ssh=ssh,
            deploy_key=deploy_key,
            ledger=ledger,
            payments=payments,
            gnupg=gnupg,
            signing_key=await asyncio.to_thread(gnupg.public, fingerprint),
        )


@asynccontextmanager
async def _open_registry(folder: Path, site: DemoSite) -> AsyncIterator[OciRegistry]:
    """A registry whose notifications the agent believes by their secret."""
    secret = secrets.token_urlsafe(24)
    path = f"/api/v1/namespaces/{NAMESPACE}/secrets/argocd-secret"
    await site.api.patch(path, {"stringData": {"webhook.oci.secret": secret}})
    endpoint = {
        "name": "agent",
        "url": f"{site.agent.url}/api/webhook",
        "headers": {"Authorization": [f"Bearer {secret}"]},
        "timeout": "10s",
        "threshold": 5,
        "backoff": "1s",
    }
    binary = await asyncio.to_thread(build_registry, ignore_progress)
    files = folder / "registry-files"
    notifications = {"endpoints": [endpoint]}
    async with oci_registry(
        binary, folder / "registry", files, notifications=notifications
    ) as registry:
        yield registry


def _own_folder(folder: Path) -> Path:
    """Make a folder that nobody else may read, as gpg demands of its home."""
    folder.mkdir(mode=0o700)
    return folder
