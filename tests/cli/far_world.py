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

from bus.ids import new_id
from bus.link import Ack, Item, Items, Offer, StateBody, TaskKind, TaskPhase, TaskResult
from cli.far.contexts import Context, Contexts, Login
from service.auth.secrets import API_TOKEN, hash_of, new_secret
from service.store import tables
from tests.cli.conftest import Gitops, Ran
from tests.service.client import Connection, Outbox, application, connect
from tests.service.world import World, open_service, settings

PASSWORD = "correct horse battery"


@dataclass
class FarWorld:
    world: World
    gitops: Gitops
    config: Path

    @property
    def url(self) -> str:
        return self.world.service.url

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
        await self._keep(Context(url=self.url, login=Login.TOKEN, secret=token, who=role))
        return token

    async def move_to(self, url: str) -> None:
        """The same login, at another replica."""
        kept = msgspec.json.decode(self.contexts_file.read_bytes(), type=Contexts)
        await self._keep(msgspec.structs.replace(kept.chosen(), url=url))

    async def _keep(self, made: Context) -> None:
        self.contexts_file.parent.mkdir(parents=True, exist_ok=True)
        contents = msgspec.json.encode(Contexts(current="test", known={"test": made}))
        await asyncio.to_thread(self.contexts_file.write_bytes, contents)

    async def token(self, role: str, **more: Any) -> str:
        account = (await self.world.rows(tables.accounts))[0].id
        token, who = new_secret(API_TOKEN), new_id()
        async with self.world.service.parts.engine.begin() as connection:
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
class Answering:
    """An agent that ends each task as told, else well; `offered` are the tasks it got."""

    link: Connection
    outbox: Outbox
    results: dict[TaskKind, dict[str, Any]] = field(default_factory=dict)
    offered: list[Offer] = field(default_factory=list)
    silent: bool = False
    acknowledged: asyncio.Queue[int] = field(default_factory=asyncio.Queue)

    async def put(self, *items: Item) -> None:
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
                await self._end(frame)
            for answer in self.outbox.answers(frame):
                await self.link.send(answer)

    async def _end(self, offer: Offer) -> None:
        if self.silent:
            return
        told = {"phase": TaskPhase.SUCCEEDED, "code": "ok", **self.results.get(offer.task.kind, {})}
        result = TaskResult(id=offer.task.id, **told)
        await self.link.send(Items(items=(self.outbox.task("result.v1", result),)))


@asynccontextmanager
async def answering(
    world: World, *bodies: StateBody, name: str = "prod", **results: dict[str, Any]
) -> AsyncIterator[Answering]:
    """Connected, its applications told, its tasks answered until the end of the block."""
    identity, outbox = await world.enrolled(name), Outbox()
    async with connect(identity) as link, asyncio.TaskGroup() as group:
        await link.hello(identity, outbox.epoch)
        agent = Answering(link, outbox)
        agent.results = {TaskKind(kind): told for kind, told in results.items()}
        running = group.create_task(agent.run(), name="agent")
        await agent.put(*(outbox.state(it) for it in bodies or (application("shop"),)))
        yield agent
        running.cancel()


@asynccontextmanager
async def open_far_world(
    database_url: str, gitops: Gitops, folder: Path
) -> AsyncIterator[FarWorld]:
    password = folder / "admin-password"
    password.write_text(PASSWORD)
    given = settings(database_url, admin_password_file=password)
    async with open_service(given) as service:
        yield FarWorld(World(service), gitops, folder / "config")
