"""The demo's world: real parts, our definitions in the cluster, the repository, and the agent.

The agent is a child process, as in production: it is told everything by settings, hears of pushes
by signed webhooks and is watched from outside only, through the cluster and the facts.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.child import Child, Program
from agent.loopback import answers_ok, free_port
from bus.jetstream import Bus, BusSettings
from playground.build import build_sandbox
from playground.compiling import Watcher
from playground.definitions import install_definitions
from playground.demo.repository import APPLICATIONS, NAMESPACE, applications, first_commit
from playground.githost import Repository
from playground.kubeapi import KubeApi
from playground.kubernetes import ControlPlane
from playground.pushes import Webhook
from playground.server import Server
from playground.world import Part, World, open_world

_APPLICATIONS = f"/apis/argoproj.io/v1alpha1/namespaces/{NAMESPACE}/applications"
_AGENT = "from cli.main import main; main()"
_PARTS = (Part.NATS, Part.REDIS, Part.GIT, Part.KUBERNETES)


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    world: World
    api: KubeApi
    repository: Repository
    bus: Bus
    agent: Server

    @property
    def kubernetes(self) -> ControlPlane:
        return self.world.kubernetes

    async def application(self, name: str) -> dict[str, Any]:
        return await self.api.get(f"{_APPLICATIONS}/{name}")

    async def applications(self) -> list[dict[str, Any]]:
        return [await self.application(name) for name in APPLICATIONS]


@asynccontextmanager
async def open_house(folder: Path, sandbox: Path) -> AsyncIterator[House]:
    """Everything runs and the repository has its first commit; there is no Application yet."""
    async with AsyncExitStack() as stack:
        world = await stack.enter_async_context(open_world(_PARTS, folder))
        api = await stack.enter_async_context(world.kubernetes.api())
        repository = world.git.create("demo/apps")
        repository.commit(first_commit(), message="three applications")
        webhook_secret = secrets.token_urlsafe(24)
        await _furnish(api, webhook_secret)
        agent = await stack.enter_async_context(_agent(world, sandbox))
        repository.webhook = Webhook(url=f"{agent.url}/api/webhook", secret=webhook_secret)
        settings = BusSettings(url=world.nats.url, account="demo", agent="laptop")
        bus = await stack.enter_async_context(Bus.open(settings))
        yield House(world=world, api=api, repository=repository, bus=bus, agent=agent)


def sandbox_program(watch: Watcher) -> Path:
    return build_sandbox(watch)


async def create_applications(house: House) -> None:
    for body in applications(house.repository.url):
        await house.api.create(_APPLICATIONS, body)


async def _furnish(api: KubeApi, webhook_secret: str) -> None:
    """What a cluster administrator does once: definitions, namespace, the webhook's secret."""
    await install_definitions(api)
    await api.create_namespace(NAMESPACE)
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "argocd-secret"},
        "stringData": {"webhook.github.secret": webhook_secret},
    }
    await api.create(f"/api/v1/namespaces/{NAMESPACE}/secrets", secret)


@asynccontextmanager
async def _agent(world: World, sandbox: Path) -> AsyncIterator[Server]:
    """`gitops agent run`, ready when it says so."""
    port = free_port()
    program = Program(
        name="gitops-agent",
        command=(sys.executable, "-c", _AGENT, "agent", "run"),
        folder=world.folder / "agent",
        environment={
            "GITOPS_ACCOUNT": "demo",
            "GITOPS_AGENT": "laptop",
            "GITOPS_NAMESPACE": NAMESPACE,
            "GITOPS_NATS_URL": world.nats.url,
            "GITOPS_REDIS_URL": world.redis.url,
            "GITOPS_KUBE_KUBECONFIG": str(world.kubernetes.kubeconfig),
            "GITOPS_STATE_DIR": str(world.folder / "agent" / "state"),
            "GITOPS_SANDBOX_BINARY": str(sandbox),
            "GITOPS_HTTP_PORT": str(port),
            "GITOPS_LOG_FORMAT": "json",
        },
        ready_within=60.0,
        stop_grace=20.0,
    )
    url = f"http://127.0.0.1:{port}"
    async with Child(program, answers_ok(f"{url}/readyz")) as child:
        yield Server(url=url, child=child)
