"""A running service, people who may do this or that, an agent that answers, and `gitops`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from sqlalchemy import insert, select

from bus.identity import new_id
from bus.link import (
    Ack,
    Chunk,
    Credit,
    End,
    Items,
    LinkItem,
    Offer,
    StateBody,
    TaskKind,
    TaskPhase,
    TaskResult,
)
from cli.remote.contexts import SavedLogin, ServiceContext, ServiceContexts
from service.auth.credentials import API_TOKEN, hash_of, new_secret
from service.store import tables
from tests.service.fake_agent import AgentConnection, AgentKeyPair, FakeOutbox, application, connect
from tests.service.service_fixture import RunningService, open_service, settings
from tests.unit.cli.conftest import Gitops, Ran

PASSWORD = "correct horse battery"


@dataclass
class ServiceFixture:
    running_service: RunningService
    gitops: Gitops
    config: Path

    @property
    def url(self) -> str:
        return self.running_service.service.url

    @property
    def contexts_file(self) -> Path:
        return self.config / "gitops" / "contexts.json"

    async def run(self, *arguments: object, stdin: str = "", **variables: object) -> Ran:
        return await asyncio.to_thread(
            self.gitops, *arguments, stdin=stdin.encode(), XDG_CONFIG_HOME=self.config, **variables
        )

    async def log_in(self, role: str = "administrator", **more: Any) -> str:
        """As somebody with this role, by a token, which is returned."""
        token = await self.token(role, **more)
        await self._keep(
            ServiceContext(url=self.url, login=SavedLogin.TOKEN, secret=token, who=role)
        )
        return token

    async def move_to(self, url: str) -> None:
        """The same login, at another replica."""
        kept = msgspec.json.decode(self.contexts_file.read_bytes(), type=ServiceContexts)
        await self._keep(msgspec.structs.replace(kept.chosen(), url=url))

    async def _keep(self, made: ServiceContext) -> None:
        self.contexts_file.parent.mkdir(parents=True, exist_ok=True)
        contents = msgspec.json.encode(ServiceContexts(current="test", known={"test": made}))
        await asyncio.to_thread(self.contexts_file.write_bytes, contents)

    async def token(self, role: str, **more: Any) -> str:
        account = (await self.running_service.rows(tables.accounts))[0].id
        token, who = new_secret(API_TOKEN), new_id()
        async with self.running_service.service.dependencies.engine.begin() as connection:
            query = select(tables.roles.c.id).where(tables.roles.c.name == role)
            role_id = await connection.scalar(query)
            common = {"account_id": account, "principal_id": who}
            person = {"id": who, "account_id": account, "name": f"{role}-{who[-6:]}"}
            await connection.execute(insert(tables.principals).values(kind="user", **person))
            await connection.execute(
                insert(tables.bindings).values(id=new_id(), role_id=role_id, **common)
            )
            key = {"id": new_id(), "name": "test", "hash": hash_of(token), **common, **more}
            await connection.execute(insert(tables.api_tokens).values(key))
        return token


@dataclass
class AnsweringAgent:
    """An agent that ends each task as told, else well; `offered` are the tasks it got.

    `logs`: what each pod prints, in the parts in which it is sent; and why the log ends.
    """

    link: AgentConnection
    outbox: FakeOutbox
    results: dict[TaskKind, dict[str, Any]] = field(default_factory=dict)
    offered: list[Offer] = field(default_factory=list)
    silent: bool = False
    keys: AgentKeyPair = field(default_factory=AgentKeyPair)
    logs: dict[str, tuple[tuple[Chunk | str, ...], str]] = field(default_factory=dict)
    acknowledged: asyncio.Queue[int] = field(default_factory=asyncio.Queue)

    async def put(self, *items: LinkItem) -> None:
        """Until the service has it."""
        await self.link.send(Items(items=items))
        while await self.acknowledged.get() < items[-1].sequence:
            pass

    async def run(self) -> None:
        while True:
            frame = await self.link.receive(within=120)
            if isinstance(frame, Ack):
                self.acknowledged.put_nowait(frame.through)
            if isinstance(frame, Offer):
                self.offered.append(frame)
                if not frame.task.kind.row.streams:
                    await self._end(frame)
            if isinstance(frame, Credit):
                await self._stream(frame.task)
            for answer in self.outbox.answers(frame):
                await self.link.send(answer)

    async def _stream(self, task: str) -> None:
        """All of a log at once: what tests print is less than any credit."""
        offers = [it for it in self.offered if it.task.id == task]
        for offer in offers:
            parts, reason = self.logs.pop(offer.task.arguments["pod"], ((), ""))
            for number, part in enumerate(parts):
                made = part if isinstance(part, Chunk) else Chunk(task=task, number=0, text=part)
                await self.link.send(msgspec.structs.replace(made, task=task, number=number))
            if reason:
                await self.link.send(End(task=task, reason=reason))
                await self._end(offer)

    async def _end(self, offer: Offer) -> None:
        if self.silent:
            return
        outcome = {
            "phase": TaskPhase.SUCCEEDED,
            "code": "ok",
            **self.results.get(offer.task.kind, {}),
        }
        result = TaskResult(id=offer.task.id, **outcome)
        await self.link.send(Items(items=(self.outbox.task("result.v1", result),)))


@asynccontextmanager
async def answering(
    running_service: RunningService,
    *bodies: StateBody,
    name: str = "prod",
    **results: dict[str, Any],
) -> AsyncIterator[AnsweringAgent]:
    """Connected, its applications told, its tasks answered until the end of the block."""
    identity, outbox = await running_service.enrolled(name), FakeOutbox()
    async with connect(identity) as link, asyncio.TaskGroup() as group:
        await link.hello(identity, outbox.epoch)
        agent = AnsweringAgent(link, outbox, keys=identity.keys)
        agent.results = {TaskKind(kind): outcome for kind, outcome in results.items()}
        running = group.create_task(agent.run(), name="agent")
        await agent.put(*(outbox.state(it) for it in bodies or (application("shop"),)))
        yield agent
        running.cancel()


@asynccontextmanager
async def open_service_fixture(
    database_url: str, gitops: Gitops, folder: Path
) -> AsyncIterator[ServiceFixture]:
    password = folder / "admin-password"
    password.write_text(PASSWORD)
    configured = settings(database_url, admin_password_file=password)
    async with open_service(configured) as service:
        yield ServiceFixture(RunningService(service), gitops, folder / "config")
