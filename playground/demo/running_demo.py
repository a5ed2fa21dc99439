"""The demo's world: the service, one cluster or two, and what they read from.

The laptop has an agent and the applications; the remote cluster stands for one in another place. A
scene says whether it is there at all, and whether an agent of its own runs in it, with a NATS of
its own, reached by nobody. A scene of several kinds of sources has hosts for them.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path
from typing import Any, TypeVar

from bus.jetstream import Bus, BusSettings
from bus.logins import BusLogin
from bus.subjects import AgentScope
from playground.build import build_control_plane, build_sandbox, ignore_progress
from playground.compiling import Watcher
from playground.demo.control_plane import ACCOUNT, DemoService, open_demo_service
from playground.demo.repository import applications, first_commit, remote_application
from playground.demo.site import DemoCluster, DemoSite, SiteParts, SitePlan, open_site
from playground.demo.source_hosts import SourceHosts, open_source_hosts
from playground.githost import HostedRepository
from playground.kubeapi import KubeApi
from playground.kubernetes import BreakableControlPlane, control_plane
from playground.playground import (
    PartNotOpenError,
    Playground,
    PlaygroundPart,
    open_playground,
)
from playground.pushes import PushWebhook

T = TypeVar("T")
_PARTS = (
    PlaygroundPart.NATS,
    PlaygroundPart.REDIS,
    PlaygroundPart.POSTGRES,
    PlaygroundPart.GIT,
    PlaygroundPart.KUBERNETES,
)
_LAPTOP = AgentScope(ACCOUNT, "laptop")
"""The agent whose NATS is not its own child."""


class RemoteKind(Enum):
    """What there is beside the laptop."""

    NONE = auto()
    BARE = auto()
    WITH_AGENT = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoPlan:
    """What a scene is played in."""

    remote: RemoteKind = RemoteKind.WITH_AGENT
    source_hosts: bool = False
    """Whether there are a registry, an SSH server and a signer of commits."""
    files: Mapping[str, str] = field(default_factory=first_commit)
    """The first commit of the repository of every scene."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteCluster:
    cluster: DemoCluster
    servers: BreakableControlPlane


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningDemo:
    playground: Playground
    service: DemoService
    laptop: DemoSite
    repository: HostedRepository
    bus: Bus
    remote_cluster: RemoteCluster | None
    hosts: SourceHosts | None

    @property
    def remote(self) -> DemoCluster:
        return _opened(self.remote_cluster, "a remote cluster").cluster

    @property
    def remote_servers(self) -> BreakableControlPlane:
        """The programs of the remote cluster, for stages that break it."""
        return _opened(self.remote_cluster, "a remote cluster").servers

    @property
    def sources(self) -> SourceHosts:
        return _opened(self.hosts, "hosts of sources")

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


_TWO_AGENTS = DemoPlan()


@asynccontextmanager
async def open_running_demo(
    folder: Path, sandbox: Path, plan: DemoPlan = _TWO_AGENTS
) -> AsyncIterator[RunningDemo]:
    """Everything runs, the agents are enrolled, Git has its first commit; no Application yet."""
    async with AsyncExitStack() as stack:
        playground, remote_cluster = await _open_servers(stack, folder, plan)
        service = await stack.enter_async_context(
            open_demo_service(folder / "service", playground.postgres.url)
        )
        repository = playground.git.create("demo/apps")
        repository.commit(plan.files, message="first version")
        ground = SiteParts(
            folder=folder,
            sandbox=sandbox,
            service=service,
            webhook_secret=secrets.token_urlsafe(24),
        )
        async with asyncio.TaskGroup() as tasks:
            first = tasks.create_task(_open_laptop(stack, playground, ground), name="laptop")
            second = tasks.create_task(
                _open_remote(stack, remote_cluster, ground, plan), name="remote"
            )
        laptop = first.result()
        webhook = PushWebhook(url=f"{laptop.agent.url}/api/webhook", secret=ground.webhook_secret)
        repository.webhook = webhook
        hosts = None
        if plan.source_hosts:
            opening = open_source_hosts(folder, playground.git, laptop, webhook)
            hosts = await stack.enter_async_context(opening)
        yield RunningDemo(
            playground=playground,
            service=service,
            laptop=laptop,
            repository=repository,
            bus=await stack.enter_async_context(Bus.open(_subscriber(playground))),
            remote_cluster=second.result(),
            hosts=hosts,
        )


def _subscriber(playground: Playground) -> BusSettings:
    return BusSettings(
        url=playground.nats.url,
        account=ACCOUNT,
        agent=_LAPTOP.agent,
        login=BusLogin.SUBSCRIBER,
        nkey_seed_file=str(playground.seed_file(_LAPTOP, BusLogin.SUBSCRIBER)),
    )


def _opened(part: T | None, name: str) -> T:
    if part is None:
        raise PartNotOpenError(f"this demo was opened without {name}")
    return part


def sandbox_program(watch: Watcher) -> Path:
    return build_sandbox(watch)


async def create_applications(demo: RunningDemo) -> None:
    for body in applications(demo.repository.url):
        await demo.laptop.create(body)


async def create_remote_application(demo: RunningDemo) -> None:
    await demo.remote.create(remote_application(demo.repository.url))


async def _open_servers(
    stack: AsyncExitStack, folder: Path, plan: DemoPlan
) -> tuple[Playground, BreakableControlPlane | None]:
    """The clusters and all servers, side by side."""
    binaries = await asyncio.to_thread(build_control_plane, ignore_progress)
    async with asyncio.TaskGroup() as tasks:
        playground = tasks.create_task(
            stack.enter_async_context(open_playground(_PARTS, folder, agents=(_LAPTOP,))),
            name="world",
        )
        if plan.remote is RemoteKind.NONE:
            return await playground, None
        remote = control_plane(folder / "remote-kubernetes", binaries)
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
    stack: AsyncExitStack,
    cluster: BreakableControlPlane | None,
    ground: SiteParts,
    plan: DemoPlan,
) -> RemoteCluster | None:
    """The remote cluster, with an agent of its own or with nothing of ours installed."""
    if cluster is None:
        return None
    if plan.remote is RemoteKind.BARE:
        api = await stack.enter_async_context(cluster.api())
        return RemoteCluster(
            cluster=DemoCluster(kubernetes=cluster, api=api),
            servers=cluster,
        )
    site_plan = SitePlan(name="remote", environment="prod", region="eu-west", settings={})
    site = await stack.enter_async_context(open_site(site_plan, cluster, ground))
    return RemoteCluster(cluster=site, servers=cluster)
