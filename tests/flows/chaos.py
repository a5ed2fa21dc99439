"""A random walk of faults over an agent that is seen from outside, repeatable by its seed.

Whatever is done is also done to a model of what Git holds. Afterwards everything is brought back,
and what must be true then is the same for every walk: live equals Git.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from playground.githost import GitHost
from playground.kubeapi import KubeApiError
from playground.server import Server
from tests.flows.agent_fixture import AgentFixture, config_map
from tests.flows.agent_process import AgentProcess

APPS = ("one", "two", "three")
FILES = ("kept", "a", "b", "c")
_LONGEST_PAUSE = 0.6
TRACKING = "argocd.argoproj.io/tracking-id"


@dataclass(slots=True, kw_only=True)
class Chaos:
    agent_fixture: AgentFixture
    agent: AgentProcess
    nats: Server
    host: GitHost
    random: Random
    git: dict[str, str] = field(default_factory=dict)
    """Object name -> value, as the last commit has it."""
    story: list[str] = field(default_factory=list)
    _host_is_up: bool = True
    _pushes: int = 0

    @property
    def faults(self) -> tuple[Callable[[], Awaitable[str]], ...]:
        often = (self.push, self.push, self.edit, self.delete)
        return (*often, self.agent_dies, self.nats_dies, self.git_goes_or_comes)

    async def begin(self) -> None:
        """All applications with their first objects, yet to be synced."""
        self.git = {f"{app}-{name}": "0" for app in APPS for name in FILES}
        files: dict[str, str | None] = {}
        for name, value in self.git.items():
            files |= {_path(name): config_map(name, key=value)}
        self.agent_fixture.commit(files)
        policy = {"automated": {"prune": True, "selfHeal": True}}
        for app in APPS:
            await self.agent_fixture.apply_app(app, app, syncPolicy=policy)

    async def walk(self, steps: int) -> None:
        for _ in range(steps):
            self.story.append(await self.random.choice(self.faults)())
            # Not to wait for anything: faults are to meet the agent at different moments.
            await asyncio.sleep(self.random.uniform(0, _LONGEST_PAUSE))

    async def bring_back(self) -> None:
        await self.nats.start()
        await self.host.up()
        await self.agent.child.start()

    # --- what can happen ----------------------------------------------------------------------

    async def push(self) -> str:
        self._pushes += 1
        name = f"{self.random.choice(APPS)}-{self.random.choice(FILES)}"
        if name in self.git and not name.endswith("-kept") and self.random.random() < 0.3:
            del self.git[name]
            self.agent_fixture.commit({_path(name): None})
            return f"push removes {name}"
        self.git[name] = str(self._pushes)
        self.agent_fixture.commit({_path(name): config_map(name, key=self.git[name])})
        return f"push sets {name}"

    async def edit(self) -> str:
        name = self.random.choice(sorted(self.git))
        patch = {"data": {"key": f"edited {len(self.story)}"}}
        return await self._by_hand(
            name, self.agent_fixture.api.patch(self._live(name), patch), "edited"
        )

    async def delete(self) -> str:
        name = self.random.choice(sorted(self.git))
        return await self._by_hand(name, self.agent_fixture.api.delete(self._live(name)), "deleted")

    async def agent_dies(self) -> str:
        """And is started again by whoever runs it, which takes a NATS."""
        self.agent.child.kill()
        await self.nats.start()
        await self.agent.child.start()
        return "agent killed"

    async def nats_dies(self) -> str:
        if self.nats.child.running:
            self.nats.kill()
            return "NATS killed"
        await self.nats.start()
        return "NATS back"

    async def git_goes_or_comes(self) -> str:
        self._host_is_up = not self._host_is_up
        await (self.host.up() if self._host_is_up else self.host.down())
        return "Git back" if self._host_is_up else "Git down"

    # --- what must be true in the end ---------------------------------------------------------

    async def live(self) -> dict[str, str]:
        """Object name -> value of everything that belongs to an application."""
        path = f"/api/v1/namespaces/{self.agent_fixture.destination}/configmaps"
        found: list[dict[str, Any]] = (await self.agent_fixture.api.get(path))["items"]
        return {
            one["metadata"]["name"]: one.get("data", {}).get("key", "")
            for one in found
            if TRACKING in one["metadata"].get("annotations", {})
        }

    async def _by_hand(self, name: str, work: Awaitable[object], what: str) -> str:
        try:
            await work
        except KubeApiError as error:
            if error.code != 404:
                raise
            return f"{name} is not there to be {what}"
        return f"{name} {what} by hand"

    def _live(self, name: str) -> str:
        return f"/api/v1/namespaces/{self.agent_fixture.destination}/configmaps/{name}"


def _path(name: str) -> str:
    return f"{name.partition('-')[0]}/{name}.yaml"
