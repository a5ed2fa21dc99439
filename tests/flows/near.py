"""A house that acts, linked to a small far end in the test: what link tests speak to.

Most of them need one application `web` of one ConfigMap, and order something about it.
"""

import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.app import Agent
from bus.identity import AppKey
from bus.link import Task, TaskKind, TaskResult
from tests.bridge.farend import FarEnd
from tests.flows.house import House, config_map

AUTOMATED: Mapping[str, Any] = {"syncPolicy": {"automated": {}}}
FILES = {"web/config.yaml": config_map("web", a="1")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Near:
    house: House
    far: FarEnd
    agent: Agent

    @property
    def key(self) -> AppKey:
        return AppKey(self.house.namespace, "web")

    @property
    def web(self) -> str:
        """The subject of orders about the application."""
        return str(self.key)

    def task(self, kind: TaskKind, subject: str = "", /, **arguments: object) -> Task:
        """An order of Ann's, about `web` where no subject is named."""
        named = subject or self.web
        return Task(id=uuid.uuid4().hex, kind=kind, subject=named, actor="ann", arguments=arguments)

    async def do(self, kind: TaskKind, subject: str = "", /, **arguments: object) -> TaskResult:
        return await self.far.do(self.task(kind, subject, **arguments))

    async def differs(self, files: Mapping[str, str] = FILES, **spec: Any) -> None:
        """The application waits for somebody to sync it."""
        self.house.commit(files)
        await self.house.apply_app("web", "web", **spec)
        await self.house.until(is_out_of_sync, app="web")

    async def push(self, files: Mapping[str, str | None]) -> str:
        """A commit, and the application has seen that it differs; the commit's id."""
        sha = self.house.commit(files)
        await self.do(TaskKind.REFRESH)
        await self.house.until(is_out_of_sync, app="web")
        return sha

    async def synced(self, files: Mapping[str, str] = FILES) -> dict[str, Any]:
        """The application syncs itself, and has."""
        self.house.commit(files)
        await self.house.apply_app("web", "web", **AUTOMATED)
        return await self.house.until_synced("web")

    async def app(self) -> dict[str, Any]:
        return await self.house.app("web")


@asynccontextmanager
async def acting(house: House, far: FarEnd, *, times: int = 1) -> AsyncIterator[Near]:
    """The agent acts, and has been linked so often."""
    async with house.running() as agent:
        await far.connected(times)
        yield Near(house=house, far=far, agent=agent)


def linked_to(far: FarEnd, house: House, folder: Path) -> House:
    """The house knows where its service is, and has a token for it."""
    return linked_by(far.token, far.url, house, folder)


def linked_by(token: str, url: str, house: House, folder: Path) -> House:
    file = folder / "token"
    file.write_text(token)
    link = house.settings.link.model_copy(update={"url": url, "token_file": file})
    house.settings = house.settings.model_copy(update={"link": link})
    return house


async def allow(house: House, **data: str) -> None:
    """What the cluster's owner lets the control plane do: these keys, and no others any more."""
    path = f"/api/v1/namespaces/{house.namespace}/configmaps/gitops-agent-limits"
    metadata = {"name": "gitops-agent-limits"}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
    await house.api.apply(path, body)


def is_out_of_sync(app: dict[str, Any]) -> bool:
    return bool(app.get("status", {}).get("sync", {}).get("status") == "OutOfSync")


def is_running(app: dict[str, Any]) -> bool:
    state = app.get("status", {}).get("operationState", {})
    return bool(state.get("phase") == "Running" and state.get("syncResult"))
