"""One machine's world: the chosen real parts, opened side by side and closed together.

    async with open_world({Part.NATS, Part.GIT, Part.KUBERNETES}) as world:
        world.nats.url, world.git.create("acme/shop"), world.kubernetes.kubeconfig

Every part has a folder of its own below the world's, with its log. A part that was not chosen is
an error to ask for, so a missing choice is found at the first line that needs it.
"""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
)
from enum import StrEnum
from pathlib import Path
from typing import TypeVar, assert_never

from bus.logins import BusLogin
from bus.subjects import AgentScope
from playground.build import build_control_plane, ignore_progress
from playground.compiling import Watcher
from playground.githost import GitHost
from playground.kubernetes import ControlPlane, control_plane
from playground.nats import nats_server, seed_file
from playground.postgres import postgres_server
from playground.redis import redis_server
from playground.server import Server

T = TypeVar("T")


class PlaygroundPart(StrEnum):
    NATS = "nats"
    REDIS = "redis"
    POSTGRES = "postgres"
    GIT = "git"
    KUBERNETES = "kubernetes"
    KUBERNETES_API = "kubernetes-api"  # without controllers: quicker, and nothing becomes Healthy


class PartNotOpenError(RuntimeError):
    """Somebody asked for a part that the world was not opened with."""


class Playground:
    """The opened parts. `kubernetes` is the cluster, with or without its controllers."""

    def __init__(self, folder: Path, agents: Sequence[AgentScope] = ()) -> None:
        self.folder = folder
        self._agents = agents
        self._opened: dict[PlaygroundPart, object] = {}

    @property
    def nats(self) -> Server:
        return self._part(Server, PlaygroundPart.NATS)

    @property
    def redis(self) -> Server:
        return self._part(Server, PlaygroundPart.REDIS)

    @property
    def postgres(self) -> Server:
        return self._part(Server, PlaygroundPart.POSTGRES)

    @property
    def git(self) -> GitHost:
        return self._part(GitHost, PlaygroundPart.GIT)

    @property
    def kubernetes(self) -> ControlPlane:
        return self._part(ControlPlane, PlaygroundPart.KUBERNETES, PlaygroundPart.KUBERNETES_API)

    def seed_file(self, agent: AgentScope, login: BusLogin) -> Path:
        """What proves this login at NATS."""
        return seed_file(self.folder / PlaygroundPart.NATS, agent, login)

    async def open(self, part: PlaygroundPart, stack: AsyncExitStack, watch: Watcher) -> None:
        resource = await self._resource(part, watch)
        self._opened[part] = await stack.enter_async_context(resource)

    def _part(self, kind: type[T], *parts: PlaygroundPart) -> T:
        for part in parts:
            opened = self._opened.get(part)
            if isinstance(opened, kind):
                return opened
        raise PartNotOpenError(f"this world was opened without {parts[0]}")

    async def _resource(
        self, part: PlaygroundPart, watch: Watcher
    ) -> AbstractAsyncContextManager[object]:
        folder = self.folder / part
        match part:
            case PlaygroundPart.NATS:
                return nats_server(folder, self._agents)
            case PlaygroundPart.REDIS:
                return redis_server(folder)
            case PlaygroundPart.POSTGRES:
                return postgres_server(folder)
            case PlaygroundPart.GIT:
                return GitHost(folder)
            case PlaygroundPart.KUBERNETES | PlaygroundPart.KUBERNETES_API:
                binaries = await asyncio.to_thread(build_control_plane, watch)
                return control_plane(
                    folder, binaries, controllers=part is PlaygroundPart.KUBERNETES
                )
            case _:
                assert_never(part)


@asynccontextmanager
async def open_playground(
    parts: Collection[PlaygroundPart],
    folder: Path | None = None,
    watch: Watcher = ignore_progress,
    agents: Sequence[AgentScope] = (),
) -> AsyncIterator[Playground]:
    """Without a folder, a temporary one that is removed at the end.

    `agents` have a login at NATS each; without any, one login for all stands in its URL.
    """
    async with AsyncExitStack() as stack:
        playground = Playground(folder or stack.enter_context(_temporary_folder()), agents)
        async with asyncio.TaskGroup() as group:
            for part in sorted(parts):
                group.create_task(playground.open(part, stack, watch), name=f"open {part}")
        yield playground


@contextmanager
def _temporary_folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="gitops-playground-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
