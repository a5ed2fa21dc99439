"""A running agent linked to the fake service of the test: what link tests use.

Most link tests need one application `web` of one ConfigMap, and send a task about it.
"""

import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bus.identity import AppKey
from bus.link import LinkTask, TaskKind, TaskResult
from handlers.control_plane.policy import read_policy
from tests.flows.agent_fixture import AgentFixture, config_map
from tests.unit.agent.bridge.fake_service import FakeService

AUTOMATED: Mapping[str, Any] = {"syncPolicy": {"automated": {}}}
FILES = {"web/config.yaml": config_map("web", a="1")}


@dataclass(frozen=True, slots=True, kw_only=True)
class FakeServiceLink:
    agent: AgentFixture
    fake_service: FakeService

    @property
    def key(self) -> AppKey:
        return AppKey(self.agent.namespace, "web")

    @property
    def web(self) -> str:
        """The subject of tasks about the application."""
        return str(self.key)

    def task(self, kind: TaskKind, subject: str = "", /, **arguments: object) -> LinkTask:
        """A task of the user ann, about `web` where no subject is given."""
        named = subject or self.web
        return LinkTask(
            id=uuid.uuid4().hex, kind=kind, subject=named, actor="ann", arguments=arguments
        )

    async def do(self, kind: TaskKind, subject: str = "", /, **arguments: object) -> TaskResult:
        return await self.fake_service.do(self.task(kind, subject, **arguments))

    async def differs(self, files: Mapping[str, str] = FILES, **spec: Any) -> None:
        """The application waits for somebody to sync it."""
        self.agent.commit(files)
        await self.agent.apply_app("web", "web", **spec)
        await self.agent.until(is_out_of_sync, app="web")

    async def push(self, files: Mapping[str, str | None]) -> str:
        """A commit, and the application has seen that it differs; the commit's id."""
        sha = self.agent.commit(files)
        await self.do(TaskKind.REFRESH)
        await self.agent.until(is_out_of_sync, app="web")
        return sha

    async def synced(self, files: Mapping[str, str] = FILES) -> dict[str, Any]:
        """The application syncs itself, and has."""
        self.agent.commit(files)
        await self.agent.apply_app("web", "web", **AUTOMATED)
        return await self.agent.until_synced("web")

    async def app(self) -> dict[str, Any]:
        return await self.agent.app("web")


@asynccontextmanager
async def acting(
    agent: AgentFixture, fake_service: FakeService, *, times: int = 1
) -> AsyncIterator[FakeServiceLink]:
    """Run the agent; yield once it has connected `times` times."""
    async with agent.running():
        await fake_service.connected(times)
        yield FakeServiceLink(agent=agent, fake_service=fake_service)


def linked_to(fake_service: FakeService, agent: AgentFixture, folder: Path) -> AgentFixture:
    """Set the address of the fake service and an enrolment token in the agent's settings."""
    return linked_by(fake_service.token, fake_service.url, agent, folder)


def linked_by(token: str, url: str, agent: AgentFixture, folder: Path) -> AgentFixture:
    file = folder / "token"
    file.write_text(token)
    link = agent.settings.link.model_copy(update={"url": url, "token_file": file})
    agent.settings = agent.settings.model_copy(update={"link": link})
    return agent


async def allow(agent: AgentFixture, **data: str) -> None:
    """What the cluster's owner lets the control plane do: these keys, and no others any more."""
    path = f"/api/v1/namespaces/{agent.namespace}/configmaps/gitops-agent-limits"
    metadata = {"name": "gitops-agent-limits"}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
    await agent.api.apply(path, body)
    policy = read_policy(data)
    await agent.until_known(lambda parts: parts.policy.now == policy, what="the owner's policy")


def is_out_of_sync(app: dict[str, Any]) -> bool:
    return bool(app.get("status", {}).get("sync", {}).get("status") == "OutOfSync")


def is_running(app: dict[str, Any]) -> bool:
    state = app.get("status", {}).get("operationState", {})
    return bool(state.get("phase") == "Running" and state.get("syncResult"))
