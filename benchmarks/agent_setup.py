"""The ground of the benchmarks: NATS, a Git host, an API server with etcd, and the agent.

Without controllers: nothing becomes Healthy, and no Pod is made, so what is measured is the agent
and the API server alone. The agent is a child process, told everything by settings, as in
production; artifacts are on its disk (no Redis).
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import aiohttp

from agent.child_process import ChildProcess, ChildProgram
from agent.loopback import answers_ok, free_port
from benchmarks.cluster import BenchmarkCluster, open_cluster
from benchmarks.counters import Snapshot, cpu_seconds, snapshot
from benchmarks.workload import NAMESPACE
from bus.jetstream import Bus, BusSettings
from playground.githost import HostedRepository
from playground.kubeapi import install_definitions
from playground.playground import Playground, PlaygroundPart, open_playground

_PARTS = (PlaygroundPart.NATS, PlaygroundPart.GIT, PlaygroundPart.KUBERNETES_API)
_AGENT = "from cli.main import main; main()"
_ACCOUNT, _NAME = "bench", "agent"
_NO_MORE: Mapping[str, str] = MappingProxyType({})
_TIMEOUT = aiohttp.ClientTimeout(total=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkParts:
    """Everything but the agent."""

    playground: Playground
    cluster: BenchmarkCluster
    repository: HostedRepository
    sandbox: Path
    webhook_secret: str

    async def snapshot(self) -> Snapshot:
        return snapshot("", await self.cluster.metrics(), cpu_seconds(None))


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSetup:
    ground: BenchmarkParts
    agent: ChildProcess
    url: str
    metrics_url: str
    session: aiohttp.ClientSession
    bus: Bus

    @property
    def cluster(self) -> BenchmarkCluster:
        return self.ground.cluster

    @property
    def repository(self) -> HostedRepository:
        return self.ground.repository

    async def snapshot(self) -> Snapshot:
        server = await self.cluster.metrics()
        async with self.session.get(f"{self.metrics_url}/metrics") as answer:
            return snapshot(await answer.text(), server, cpu_seconds(self.agent.pid))


@asynccontextmanager
async def open_parts(folder: Path, sandbox: Path) -> AsyncIterator[BenchmarkParts]:
    async with AsyncExitStack() as stack:
        playground = await stack.enter_async_context(open_playground(_PARTS, folder))
        api = await stack.enter_async_context(playground.kubernetes.api())
        await install_definitions(api)
        cluster = await stack.enter_async_context(open_cluster(playground.kubernetes.access))
        ground = BenchmarkParts(
            playground=playground,
            cluster=cluster,
            repository=playground.git.create("bench/monorepo"),
            sandbox=sandbox,
            webhook_secret=secrets.token_urlsafe(24),
        )
        await _furnish(ground)
        yield ground


@asynccontextmanager
async def open_agent_setup(
    ground: BenchmarkParts, name: str = "agent", environment: Mapping[str, str] = _NO_MORE
) -> AsyncIterator[AgentSetup]:
    """The agent acts inside the block; each `name` has a folder of its own."""
    async with AsyncExitStack() as stack:
        child, url, metrics_url = _agent(ground, name, environment)
        await stack.enter_async_context(child)
        session = await stack.enter_async_context(aiohttp.ClientSession(timeout=_TIMEOUT))
        settings = BusSettings(url=ground.playground.nats.url, account=_ACCOUNT, agent=_NAME)
        bus = await stack.enter_async_context(Bus.open(settings))
        yield AgentSetup(
            ground=ground,
            agent=child,
            url=url,
            metrics_url=metrics_url,
            session=session,
            bus=bus,
        )


async def create_namespace(cluster: BenchmarkCluster, name: str) -> None:
    await cluster.create("/api/v1/namespaces", {"metadata": {"name": name}})


async def _furnish(ground: BenchmarkParts) -> None:
    await create_namespace(ground.cluster, NAMESPACE)
    secret = {
        "metadata": {"name": "argocd-secret"},
        "stringData": {"webhook.github.secret": ground.webhook_secret},
    }
    await ground.cluster.create(f"/api/v1/namespaces/{NAMESPACE}/secrets", secret)


def _agent(
    ground: BenchmarkParts, name: str, environment: Mapping[str, str]
) -> tuple[ChildProcess, str, str]:
    """The process, the address of its webhook, and that of its metrics."""
    port, metrics_port = free_port(), free_port()
    folder, metrics_url = ground.playground.folder / name, f"http://127.0.0.1:{metrics_port}"
    program = ChildProgram(
        name=f"gitops-{name}",
        command=(sys.executable, "-c", _AGENT, "agent", "run"),
        folder=folder,
        environment={
            "GITOPS_ACCOUNT": _ACCOUNT,
            "GITOPS_AGENT": _NAME,
            "GITOPS_NAMESPACE": NAMESPACE,
            "GITOPS_NATS_URL": ground.playground.nats.url,
            "GITOPS_KUBE_KUBECONFIG": str(ground.playground.kubernetes.kubeconfig),
            "GITOPS_STATE_DIR": str(folder / "state"),
            "GITOPS_SANDBOX_BINARY": str(ground.sandbox),
            "GITOPS_HTTP_PORT": str(port),
            "GITOPS_HTTP_METRICS_PORT": str(metrics_port),
            "GITOPS_LOG_FORMAT": "json",
            **environment,
        },
        ready_within=120.0,
        stop_grace=30.0,
    )
    child = ChildProcess(program, answers_ok(f"{metrics_url}/leaderz"))
    return child, f"http://127.0.0.1:{port}", metrics_url
