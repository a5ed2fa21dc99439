"""The agent as a child process, as in production: told by settings, seen from outside only.

What it is, is found in the cluster, on the bus, at its front door and in its log. It can be killed
with -9 and started again in the same state directory.
"""

import base64
import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from agent.agent_secrets import AGENT_KEYS
from agent.child_process import ChildNotReadyError, ChildProcess, ChildProgram
from agent.loopback import answers_tcp, free_port
from agent.settings import Settings
from bus.jetstream import Bus, BusSettings
from bus.signature import CommandKey
from playground.pushes import PushWebhook
from tests.flows.agent_fixture import AgentFixture
from tests.flows.conftest import WEBHOOK_SECRET
from tests.paths import REPOSITORY
from tests.support import eventually

ROOT = REPOSITORY
AGENT = ("-c", "from cli.main import main; main()", "agent", "run")
NO_KEY = CommandKey()
_TIMEOUT = aiohttp.ClientTimeout(total=120)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentProcess:
    """One agent process, running or not."""

    child: ChildProcess
    url: str
    metrics_url: str
    """Of health and metrics."""

    @property
    def webhook(self) -> PushWebhook:
        return PushWebhook(url=f"{self.url}/api/webhook", secret=WEBHOOK_SECRET)

    @property
    def log(self) -> str:
        return self.child.program.log.read_text()

    def logged(self, event: str) -> list[dict[str, Any]]:
        """Its log lines with this message."""
        lines = [json.loads(line) for line in self.log.splitlines() if line.startswith("{")]
        return [line for line in lines if line.get("event") == event]

    async def missing(self) -> Mapping[str, str]:
        """What `/readyz` says is missing, and why; empty when ready, also as a standby."""
        async with (
            aiohttp.ClientSession(timeout=_TIMEOUT) as session,
            session.get(f"{self.metrics_url}/readyz") as answer,
        ):
            answered = await answer.json()
            assert answer.status == (503 if answered["missing"] else 200)
            return dict(answered["missing"])

    async def acts(self) -> bool:
        async with (
            aiohttp.ClientSession(timeout=_TIMEOUT) as session,
            session.get(f"{self.metrics_url}/leaderz") as answer,
        ):
            return answer.status == 200

    async def until_ready(self) -> None:
        """It acts: the Lease is its own and its handlers are started."""

        async def is_ready() -> bool:
            return await self.acts() and not await self.missing()

        await eventually(is_ready)

    async def until_killed(self) -> None:
        """Start what will kill itself, and see it act and be gone without a goodbye."""
        with suppress(ChildNotReadyError):  # it may be gone before we looked
            await self.child.start()
        await eventually(lambda: not self.child.running, what=f"{self.child.program.name} ended")
        assert self.logged("acting")
        assert not self.logged("stopped")

    def peak_memory(self) -> int:
        """Bytes that were resident at once, at most."""
        text = Path(f"/proc/{self.child.pid}/status").read_text()
        line = next(line for line in text.splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024


@asynccontextmanager
async def agent_process(
    agent_fixture: AgentFixture, name: str = "agent", **environment: str
) -> AsyncIterator[AgentProcess]:
    """A process of its own for the agent's settings; `environment` adds to or replaces them."""
    agent = prepared(agent_fixture, name, AGENT, **environment)
    async with agent.child:
        yield agent


def prepared(
    agent_fixture: AgentFixture,
    name: str = "agent",
    command: tuple[str, ...] = AGENT,
    **environment: str,
) -> AgentProcess:
    """Not started yet; as started counts that its front door is open."""
    port, metrics_port = free_port(), free_port()
    url = f"http://127.0.0.1:{port}"
    program = ChildProgram(
        name=name,
        command=(sys.executable, *command),
        folder=agent_fixture.settings.state_dir.parent / "agents",
        environment={**_environment(agent_fixture.settings, port, metrics_port), **environment},
        ready_within=120.0,
        stop_grace=20.0,
    )
    metrics_url = f"http://127.0.0.1:{metrics_port}"
    return AgentProcess(
        child=ChildProcess(program, answers_tcp(port)), url=url, metrics_url=metrics_url
    )


def _environment(settings: Settings, port: int, metrics_port: int) -> dict[str, str]:
    nats = settings.nats.url
    return {
        "PYTHONPATH": str(ROOT),
        "GITOPS_ACCOUNT": settings.account,
        "GITOPS_AGENT": settings.agent,
        "GITOPS_NAMESPACE": settings.namespace,
        "GITOPS_DESTINATION_NAMESPACES": ",".join(settings.destination_namespaces),
        "GITOPS_NATS_URL": nats.get_secret_value() if nats else "",
        "GITOPS_KUBE_KUBECONFIG": str(settings.kube.kubeconfig),
        "GITOPS_STATE_DIR": str(settings.state_dir),
        "GITOPS_SANDBOX_BINARY": str(settings.sandbox.binary),
        "GITOPS_SANDBOX_WORKERS": "1",
        "GITOPS_HTTP_PORT": str(port),
        "GITOPS_HTTP_METRICS_PORT": str(metrics_port),
        "GITOPS_LOG_FORMAT": "json",
        "GITOPS_LEASE_ENABLED": "false",
    }


@asynccontextmanager
async def bus_of(settings: Settings, command_key: CommandKey = NO_KEY) -> AsyncIterator[Bus]:
    """The agent's streams, for whoever has the key of its commands and for whoever has none."""
    url = settings.nats.url
    assert url is not None
    chosen = BusSettings(
        url=url.get_secret_value(),
        account=settings.account,
        agent=settings.agent,
        command_key=command_key,
    )
    async with Bus.open(chosen) as bus:
        yield bus


async def command_key_of(agent_fixture: AgentFixture) -> CommandKey:
    """As the next leader finds what the last one signed with."""
    path = f"/api/v1/namespaces/{agent_fixture.namespace}/secrets/{AGENT_KEYS}"
    data = (await agent_fixture.api.get(path))["data"]
    return CommandKey(base64.b64decode(base64.b64decode(data["commands"])))


async def allow_webhooks(agent_fixture: AgentFixture) -> None:
    """The Secret that says who may announce pushes."""
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "argocd-secret"},
        "stringData": {"webhook.github.secret": WEBHOOK_SECRET},
    }
    await agent_fixture.api.create(f"/api/v1/namespaces/{agent_fixture.namespace}/secrets", secret)
