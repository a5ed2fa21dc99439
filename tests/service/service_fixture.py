"""A running service on a database of its own, and agents that may connect to it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import aiohttp
from argon2 import PasswordHasher
from pydantic import SecretStr
from sqlalchemy import Column, ColumnElement, Table, func, insert, select

from bus.identity import new_id
from service.auth.credentials import API_TOKEN, hash_of, new_secret
from service.gateway.enrolment import new_token
from service.keys.key_file import KeyFile, generate, open_key_file
from service.lifecycle import Service, now
from service.settings import ServiceSettings
from service.store.tables import accounts, agents, api_tokens, principals
from tests.service.fake_agent import AgentIdentity, AgentKeyPair, enrol


def settings(database_url: str, **more: Any) -> ServiceSettings:
    values: dict[str, Any] = {"port": 0, "metrics_port": 0, "key_file": key_path(), **more}
    return ServiceSettings(database_url=SecretStr(database_url), **values)


@dataclass
class MovableClock:
    """A clock that stands still until a test moves it."""

    now: datetime = field(default_factory=lambda: datetime.now(UTC))

    def __call__(self) -> datetime:
        return self.now

    def on(self, **by: float) -> None:
        self.now += timedelta(**by)


def open_service(settings: ServiceSettings, clock: Callable[[], datetime] = now) -> Service:
    """As `service.lifecycle.open_service`, with a cheaper hash of the first user's password."""
    cheap = PasswordHasher(time_cost=1, memory_cost=64, parallelism=1)
    return Service(settings=settings, hash_password=cheap.hash, clock=clock)


@cache
def key_path() -> Path:
    """A key file for all tests that need no keys of their own."""
    file = Path(tempfile.mkdtemp(prefix="gitops-keys-")) / "service.key"
    generate(file)
    return file


def key_file() -> KeyFile:
    return open_key_file(key_path())


def order_of(table: Table) -> Sequence[Column[Any]]:
    """Name the columns by which rows come as they were made: PostgreSQL gives them in any order.

    Records of the audit have numbers; other rows have an id that grows with time.
    """
    numbered = [table.c.sequence] if "sequence" in table.c else []
    return (*numbered, *table.primary_key.columns)


@dataclass(frozen=True, slots=True)
class RunningService:
    service: Service

    async def agent(self, name: str = "prod", **columns: Any) -> str:
        """A new agent's id."""
        agent_id = new_id()
        async with self.service.dependencies.engine.begin() as connection:
            account = (await connection.execute(select(accounts.c.id))).scalar_one()
            row = {"id": agent_id, "account_id": account, "name": name, **columns}
            await connection.execute(insert(agents).values(row))
        return agent_id

    async def token(self, agent_id: str, seconds: float = 60, cluster: str = "") -> str:
        async with self.service.dependencies.engine.begin() as connection:
            until = now() + timedelta(seconds=seconds)
            return await new_token(connection, agent_id, until, cluster)

    async def enrolled(self, name: str = "prod", **columns: Any) -> AgentIdentity:
        agent_id = await self.agent(name, **columns)
        return await enrol(self.service.url, await self.token(agent_id), AgentKeyPair())

    async def again(self, agent_id: str) -> AgentIdentity:
        """The agent with keys of a new enrolment."""
        return await enrol(self.service.url, await self.token(agent_id), AgentKeyPair())

    async def bearer(self) -> str:
        """A new API token of the first user."""
        token = new_secret(API_TOKEN)
        async with self.service.dependencies.engine.begin() as connection:
            admin = (await connection.execute(select(principals))).one()
            row = {"id": new_id(), "account_id": admin.account_id, "principal_id": admin.id}
            await connection.execute(
                insert(api_tokens).values(**row, name="test", hash=hash_of(token))
            )
        return token

    async def call(self, method: str, path: str) -> tuple[int, Any]:
        """Of the API, as the first user."""
        headers = {"Authorization": f"Bearer {await self.bearer()}"}
        body: dict[str, str] | None = {} if method == "POST" else None
        url = f"{self.service.url}/api/v1{path}"
        async with (
            aiohttp.ClientSession(headers=headers) as http,
            http.request(method, url, json=body) as answer,
        ):
            return answer.status, await answer.json(content_type=None)

    async def rows(self, table: Table) -> list[Any]:
        """Read all rows in the order of `order_of`."""
        async with self.service.dependencies.engine.connect() as connection:
            query = select(table).order_by(*order_of(table))
            return list((await connection.execute(query)).all())

    async def count(self, table: Table, *conditions: ColumnElement[bool]) -> int:
        """Count rows where the table is large and somebody waits for it."""
        async with self.service.dependencies.engine.connect() as connection:
            query = select(func.count()).select_from(table).where(*conditions)
            return (await connection.execute(query)).scalar_one()


__all__ = ["RunningService", "open_service", "settings"]
