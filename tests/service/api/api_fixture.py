"""A service's API on a real database, and people to call it as."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

from aiohttp import ClientResponse, ClientSession, CookieJar, web
from aiohttp.test_utils import BaseTestServer, TestServer
from argon2 import PasswordHasher
from sqlalchemy import insert, select, update
from sqlalchemy.ext.asyncio import AsyncEngine

from bus.http.body import prepare_bodies
from bus.http.budget import HttpLimits
from bus.http.refusals import prepare_refusals
from bus.identity import new_id
from bus.link import StateBody
from service.access.permissions import BUILT_IN_ROLES
from service.api.access.password_check import PASSWORDS
from service.api.routes import table
from service.auth.credentials import API_TOKEN, hash_of, new_secret
from service.auth.passwords import Passwords
from service.auth.rate_limits import RateLimits
from service.dependencies import ServiceDependencies
from service.gateway.task_store import TaskStore
from service.http.error_problems import problems
from service.http.serve import EndpointServer
from service.projection.application_status import Attention, attention_of, sync_failure_of
from service.projection.task_reports import ENDED
from service.store import tables
from service.store.database import open_engine
from service.store.link_signals import LinkRegistry
from service.store.signals import Signals, send
from service.wiring import provide_api
from tests.service.service_fixture import MovableClock, key_file, order_of, settings

API = "/api/v1"
PASSWORD = "correct horse battery"
CHEAP = PasswordHasher(time_cost=1, memory_cost=64, parallelism=1)


@dataclass
class ApiPerson:
    """Calls by token unless told otherwise."""

    id: str
    name: str
    token: str
    api: ApiFixture

    async def call(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> ApiAnswer:
        mine = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        return await self.api.call(method, path, body, {**mine, **(headers or {})})

    async def get(self, path: str) -> ApiAnswer:
        return await self.call("GET", path)


@dataclass
class ApiAnswer:
    status: int
    headers: Mapping[str, str]
    raw: bytes
    body: Any


@dataclass
class ApiFixture:
    dependencies: ServiceDependencies
    endpoints: EndpointServer
    app: web.Application
    clock: MovableClock
    client: ClientSession
    server: BaseTestServer
    account: str = ""
    organisation: str = ""
    project: str = ""
    roles: dict[str, str] = field(default_factory=dict)

    @property
    def buckets(self) -> RateLimits:
        return self.endpoints.login_check.buckets

    @property
    def engine(self) -> AsyncEngine:
        return self.dependencies.engine

    @property
    def origin(self) -> str:
        return f"http://{self.server.host}:{self.server.port}"

    async def call(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> ApiAnswer:
        url = self.server.make_url(path if path.startswith("/api") else API + path)
        content: dict[str, Any] = {"data": body} if isinstance(body, bytes | BytesIO) else {}
        if body is not None and not content:
            content = {"json": body}
        async with self.client.request(method, url, headers=headers, **content) as response:
            return await _answered(response)

    async def put(self, table: str, /, **values: Any) -> str:
        """A row of a table; its id."""
        row = {"id": new_id(), **values}
        async with self.engine.begin() as connection:
            await connection.execute(insert(tables.metadata.tables[table]).values(row))
        return str(row["id"])

    async def person(
        self, role: str = "", *, account: str = "", name: str = "", **scope: str
    ) -> ApiPerson:
        """With a role in a scope (organisation_id, project_id, resource_group_id)."""
        account = account or self.account
        name = name or f"{role or 'nobody'}-{new_id()[-6:]}"
        who = await self.put(
            "principals",
            account_id=account,
            kind="user",
            name=name,
            password_hash=CHEAP.hash(PASSWORD),
        )
        if role:
            await self.put(
                "bindings",
                account_id=account,
                principal_id=who,
                role_id=self.roles[account + role],
                **scope,
            )
        return ApiPerson(id=who, name=name, token=await self.token(who, account), api=self)

    async def token(self, who: str, account: str = "", **more: Any) -> str:
        token = new_secret(API_TOKEN)
        account = account or self.account
        values = {"account_id": account, "principal_id": who, "name": "test", **more}
        await self.put("api_tokens", hash=hash_of(token), **values)
        return token

    async def make_account(self, name: str) -> str:
        account = await self.put("accounts", name=name)
        for role, permissions in BUILT_IN_ROLES.items():
            self.roles[account + role] = await self.put(
                "roles",
                account_id=account,
                name=role,
                permissions=sorted(permissions),
                built_in=True,
            )
        return account

    async def agent(self, name: str, **more: Any) -> str:
        values = {"account_id": self.account, "state": "enrolled", "heard_at": self.clock()}
        values["connected"] = more.get("heard_at", values["heard_at"]) is not None
        return await self.put("agents", name=name, **{**values, **more})

    async def application(self, agent: str, name: str, **more: Any) -> str:
        values = {
            "agent_id": agent,
            "account_id": self.account,
            "namespace": "argocd",
            "name": name,
            "project": "default",
            "sync": "Synced",
            "health": "Healthy",
            "as_of": self.clock(),
        }
        values |= more
        return await self.put("applications", **{"attention": _attention(values), **values})

    async def answer(self, phase: str = "succeeded", **values: Any) -> None:
        """As the agent of the newest task would."""
        task = tables.tasks
        query = select(task.c.id).where(task.c.phase == "queued").order_by(task.c.id.desc())
        async with asyncio.timeout(60), self.engine.connect() as connection:
            while (found := await connection.scalar(query.limit(1))) is None:
                await connection.rollback()
                await asyncio.sleep(0.01)
        async with self.engine.begin() as connection:
            ended = update(task).where(task.c.id == found).values(phase=phase, **values)
            await connection.execute(ended)
            await send(connection, ENDED, found)

    async def rows(self, name: str) -> list[Any]:
        """Read all rows in the order of `order_of`."""
        table = tables.metadata.tables[name]
        async with self.engine.connect() as connection:
            query = select(table).order_by(*order_of(table))
            return list((await connection.execute(query)).all())


@asynccontextmanager
async def open_api_fixture(database_url: str) -> AsyncIterator[ApiFixture]:
    clock = MovableClock()
    signals, keys = Signals(url=database_url), key_file()
    async with open_engine(database_url, keys=keys) as engine, asyncio.TaskGroup() as group:
        listening = group.create_task(signals.run(), name="signals")
        dependencies = ServiceDependencies(
            settings=settings(database_url),
            engine=engine,
            keys=keys,
            signals=signals,
            clock=clock,
            link_registry=LinkRegistry(),
            tasks=TaskStore(engine=engine, signals=signals, clock=clock),
            replica="test",
        )
        app = web.Application(middlewares=(problems,))
        prepare_bodies(app, HttpLimits())
        prepare_refusals(app)
        endpoints = provide_api(app, dependencies)
        app[PASSWORDS] = Passwords(hasher=CHEAP)
        app.router.add_routes([endpoints.route(it) for it in table()])
        async with (
            TestServer(app) as server,
            ClientSession(cookie_jar=CookieJar(unsafe=True)) as client,
        ):
            api = ApiFixture(dependencies, endpoints, app, clock, client, server)
            await _insert_account(api)
            yield api
        listening.cancel()


async def _insert_account(api: ApiFixture) -> None:
    api.account = await api.make_account("default")
    api.organisation = await api.put("organisations", account_id=api.account, name="default")
    api.project = await api.put(
        "projects", account_id=api.account, organisation_id=api.organisation, name="default"
    )


async def _answered(response: ClientResponse) -> ApiAnswer:
    raw = await response.read()
    is_json = "json" in response.content_type and "jsonl" not in response.content_type
    body = await response.json(content_type=None) if raw and is_json else None
    return ApiAnswer(response.status, response.headers, raw, body)


def _attention(values: Mapping[str, Any]) -> Attention:
    """As the projection finds it for a row like this."""
    status = {
        "health": {"status": values["health"]},
        "sync": {"status": values["sync"]},
        "operationState": {"phase": values.get("phase", "")},
        "conditions": values.get("conditions", []),
    }
    body = StateBody(kind="Application", namespace="argocd", name=values["name"], status=status)
    automated = bool(values.get("automated"))
    return attention_of(body, sync_failure_of(status), automated=automated)
