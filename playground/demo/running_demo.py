"""The demo's world: the service, and two clusters, over one Git repository.

The laptop has an agent and the applications; the remote cluster stands for one in another place. A
scene says whether an agent of its own runs there, with a NATS of its own, reached by nobody, or
nothing of ours at all.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bus.jetstream import Bus, BusSettings
from bus.logins import BusLogin
from bus.subjects import AgentScope
from playground.build import build_control_plane, build_sandbox, ignore_progress
from playground.compiling import Watcher
from playground.demo.control_plane import ACCOUNT, DemoService, open_demo_service
from playground.demo.repository import applications, first_commit, remote_application
from playground.demo.site import DemoCluster, DemoSite, SiteParts, SitePlan, open_site
from playground.githost import HostedRepository
from playground.kubeapi import KubeApi
from playground.kubernetes import BreakableControlPlane, control_plane
from playground.playground import Playground, PlaygroundPart, open_playground
from playground.pushes import PushWebhook

_PARTS = (
    PlaygroundPart.NATS,
    PlaygroundPart.REDIS,
    PlaygroundPart.POSTGRES,
    PlaygroundPart.GIT,
    PlaygroundPart.KUBERNETES,
)
_LAPTOP = AgentScope(ACCOUNT, "laptop")
"""The agent whose NATS is not its own child."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningDemo:
    playground: Playground
    service: DemoService
    laptop: DemoSite
    remote: DemoCluster
    remote_servers: BreakableControlPlane
    """The programs of the remote cluster, for stages that break it."""
    repository: HostedRepository
    bus: Bus

    @property
    def subscriber_seed_file(self) -> Path:
        """The login with which anybody here may read the laptop's facts."""
        return self.playground.seed_file(_LAPTOP, BusLogin.SUBSCRIBER)

    @property
    def api(self) -> KubeApi:
        return self.laptop.api

    async def application(self, name: str) -> dict[str, Any]:
        return await self.laptop.application(name)

    async def applications(self) -> list[dict[str, Any]]:
        return await self.laptop.applications()


@asynccontextmanager
async def open_running_demo(
    folder: Path, sandbox: Path, *, remote_agent: bool = True
) -> AsyncIterator[RunningDemo]:
    """Everything runs, the agents are enrolled, Git has its first commit; no Application yet.

    `remote_agent`: an agent of its own runs beside the remote cluster.
    """
    async with AsyncExitStack() as stack:
        playground, remote_cluster = await _open_servers(stack, folder)
        service = await stack.enter_async_context(
            open_demo_service(folder / "service", playground.postgres.url)
        )
        repository = playground.git.create("demo/apps")
        repository.commit(first_commit(), message="three applications")
        ground = SiteParts(
            folder=folder,
            sandbox=sandbox,
            service=service,
            webhook_secret=secrets.token_urlsafe(24),
        )
        async with asyncio.TaskGroup() as tasks:
            first = tasks.create_task(_open_laptop(stack, playground, ground), name="laptop")
            second = tasks.create_task(
                _open_remote(stack, remote_cluster, ground if remote_agent else None),
                name="remote",
            )
        laptop, remote = first.result(), second.result()
        url = f"{laptop.agent.url}/api/webhook"
        repository.webhook = PushWebhook(url=url, secret=ground.webhook_secret)
        settings = BusSettings(
            url=playground.nats.url,
            account=ACCOUNT,
            agent=_LAPTOP.agent,
            login=BusLogin.SUBSCRIBER,
            nkey_seed_file=str(playground.seed_file(_LAPTOP, BusLogin.SUBSCRIBER)),
        )
        bus = await stack.enter_async_context(Bus.open(settings))
        yield RunningDemo(
            playground=playground,
            service=service,
            laptop=laptop,
            remote=remote,
            remote_servers=remote_cluster,
            repository=repository,
            bus=bus,
        )


def sandbox_program(watch: Watcher) -> Path:
    return build_sandbox(watch)


async def create_applications(demo: RunningDemo) -> None:
    for body in applications(demo.repository.url):
        await demo.laptop.create(body)


async def create_remote_application(demo: RunningDemo) -> None:
    await demo.remote.create(remote_application(demo.repository.url))


async def _open_servers(
    stack: AsyncExitStack, folder: Path
) -> tuple[Playground, BreakableControlPlane]:
    """Both clusters and all servers, side by side."""
    binaries = await asyncio.to_thread(build_control_plane, ignore_progress)
    remote = control_plane(folder / "remote-kubernetes", binaries)
    async with asyncio.TaskGroup() as tasks:
        playground = tasks.create_task(
            stack.enter_async_context(open_playground(_PARTS, folder, agents=(_LAPTOP,))),
            name="world",
        )
        cluster = tasks.create_task(stack.enter_async_context(remote), name="remote cluster")
    return playground.result(), cluster.result()


async def _open_laptop(
    stack: AsyncExitStack, playground: Playground, ground: SiteParts
) -> DemoSite:
    settings = {
        "GITOPS_NATS_URL": playground.nats.url,
        "GITOPS_NATS_NKEY_FILE": str(playground.seed_file(_LAPTOP, BusLogin.AGENT)),
        "GITOPS_NATS_BRIDGE_NKEY_FILE": str(playground.seed_file(_LAPTOP, BusLogin.BRIDGE)),
        "GITOPS_REDIS_URL": playground.redis.url,
    }
    plan = SitePlan(name=_LAPTOP.agent, environment="dev", region="local", settings=settings)
    return await stack.enter_async_context(open_site(plan, playground.kubernetes, ground))


async def _open_remote(
    stack: AsyncExitStack, cluster: BreakableControlPlane, ground: SiteParts | None
) -> DemoCluster:
    """The remote site; without `ground` the mere cluster, into which nothing is installed."""
    if ground is None:
        api = await stack.enter_async_context(cluster.api())
        return DemoCluster(kubernetes=cluster, api=api)
    plan = SitePlan(name="remote", environment="prod", region="eu-west", settings={})
    return await stack.enter_async_context(open_site(plan, cluster, ground))
