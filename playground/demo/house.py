"""The demo's world: the far end, and two sites with an agent each, over one Git repository.

The laptop has controllers and the three applications; the remote site stands for another cluster in
another place: an API server of its own, a NATS of its own, reached by nobody.
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
from bus.logins import Login
from bus.subjects import Scope
from playground.build import build_control_plane, build_sandbox, say_nothing
from playground.compiling import Watcher
from playground.demo.far_end import ACCOUNT, FarEnd, open_far_end
from playground.demo.repository import applications, first_commit, remote_application
from playground.demo.site import Ground, Plan, Site, open_site
from playground.githost import Repository
from playground.kubeapi import KubeApi
from playground.kubernetes import ControlPlane, control_plane
from playground.pushes import Webhook
from playground.world import Part, World, open_world

_PARTS = (Part.NATS, Part.REDIS, Part.POSTGRES, Part.GIT, Part.KUBERNETES)
_LAPTOP = Scope(ACCOUNT, "laptop")
"""The agent whose NATS is not its own child."""


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    world: World
    far_end: FarEnd
    laptop: Site
    remote: Site
    repository: Repository
    bus: Bus

    @property
    def subscriber_seed_file(self) -> Path:
        """The login with which anybody here may read the laptop's facts."""
        return self.world.seed_file(_LAPTOP, Login.SUBSCRIBER)

    @property
    def api(self) -> KubeApi:
        return self.laptop.api

    async def application(self, name: str) -> dict[str, Any]:
        return await self.laptop.application(name)

    async def applications(self) -> list[dict[str, Any]]:
        return await self.laptop.applications()


@asynccontextmanager
async def open_house(folder: Path, sandbox: Path) -> AsyncIterator[House]:
    """Everything runs, both agents are enrolled, Git has its first commit; no Application yet."""
    async with AsyncExitStack() as stack:
        world, far_cluster = await _open_servers(stack, folder)
        far_end = await stack.enter_async_context(
            open_far_end(folder / "service", world.postgres.url)
        )
        repository = world.git.create("demo/apps")
        repository.commit(first_commit(), message="three applications")
        ground = Ground(
            folder=folder,
            sandbox=sandbox,
            far_end=far_end,
            webhook_secret=secrets.token_urlsafe(24),
        )
        laptop, remote = await _open_sites(stack, world, far_cluster, ground)
        url = f"{laptop.agent.url}/api/webhook"
        repository.webhook = Webhook(url=url, secret=ground.webhook_secret)
        settings = BusSettings(
            url=world.nats.url,
            account=ACCOUNT,
            agent=_LAPTOP.agent,
            login=Login.SUBSCRIBER,
            nkey_seed_file=str(world.seed_file(_LAPTOP, Login.SUBSCRIBER)),
        )
        bus = await stack.enter_async_context(Bus.open(settings))
        yield House(
            world=world,
            far_end=far_end,
            laptop=laptop,
            remote=remote,
            repository=repository,
            bus=bus,
        )


def sandbox_program(watch: Watcher) -> Path:
    return build_sandbox(watch)


async def create_applications(house: House) -> None:
    for body in applications(house.repository.url):
        await house.laptop.create(body)


async def create_remote_application(house: House) -> None:
    await house.remote.create(remote_application(house.repository.url))


async def _open_servers(stack: AsyncExitStack, folder: Path) -> tuple[World, ControlPlane]:
    """Both clusters and all servers, side by side."""
    binaries = await asyncio.to_thread(build_control_plane, say_nothing)
    far = control_plane(folder / "remote-kubernetes", binaries)
    async with asyncio.TaskGroup() as tasks:
        world = tasks.create_task(
            stack.enter_async_context(open_world(_PARTS, folder, agents=(_LAPTOP,))),
            name="world",
        )
        cluster = tasks.create_task(stack.enter_async_context(far), name="remote cluster")
    return world.result(), cluster.result()


async def _open_sites(
    stack: AsyncExitStack, world: World, far_cluster: ControlPlane, ground: Ground
) -> tuple[Site, Site]:
    near = {
        "GITOPS_NATS_URL": world.nats.url,
        "GITOPS_NATS_NKEY_FILE": str(world.seed_file(_LAPTOP, Login.AGENT)),
        "GITOPS_NATS_BRIDGE_NKEY_FILE": str(world.seed_file(_LAPTOP, Login.BRIDGE)),
        "GITOPS_REDIS_URL": world.redis.url,
    }
    laptop = Plan(name=_LAPTOP.agent, environment="dev", region="local", settings=near)
    remote = Plan(name="remote", environment="prod", region="eu-west", settings={})
    async with asyncio.TaskGroup() as tasks:
        first = tasks.create_task(
            stack.enter_async_context(open_site(laptop, world.kubernetes, ground)), name="laptop"
        )
        second = tasks.create_task(
            stack.enter_async_context(open_site(remote, far_cluster, ground)), name="remote"
        )
    return first.result(), second.result()
