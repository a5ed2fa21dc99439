"""An administrator of a running service: calls its API by token, and waits for tasks to end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
from sqlalchemy import insert, select

from bus.identity import new_id
from service.auth.credentials import API_TOKEN, hash_of, new_secret
from service.store.tables import api_tokens, principals
from tests.service.service_fixture import RunningService
from tests.support import eventually


@dataclass(frozen=True, slots=True)
class Administrator:
    http: aiohttp.ClientSession

    async def items(self, path: str) -> list[dict[str, Any]]:
        """Of the first page of a list."""
        answer = await self.call("GET", path)
        found: list[dict[str, Any]] = answer["items"]
        return found

    async def call(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> Any:
        """Raises AssertionError with the problem where it is refused."""
        url = f"/api/v1{path}"
        async with self.http.request(method, url, json=body, headers=headers) as response:
            text = await response.text()
            assert response.status < 300, f"{method} {path}: {response.status} {text}"
            return await response.json() if text else None

    async def order(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> dict[str, Any]:
        """A task, as it ended."""
        task = (await self.call(method, path, body, headers))["task"]

        async def ended() -> Any:
            found: dict[str, Any] = await self.call("GET", f"/tasks/{task['id']}")
            return found if found["finishedAt"] else None

        found: dict[str, Any] = await eventually(ended, within=120, what=f"end of {path}")
        return found


@asynccontextmanager
async def administrator(
    running_service: RunningService, url: str = ""
) -> AsyncIterator[Administrator]:
    """`url`: where the service is, if that is not what it calls itself."""
    token = new_secret(API_TOKEN)
    async with running_service.service.dependencies.engine.begin() as connection:
        who = (await connection.execute(select(principals))).one()
        row = {"id": new_id(), "account_id": who.account_id, "principal_id": who.id, "name": "test"}
        await connection.execute(insert(api_tokens).values(**row, hash=hash_of(token)))
    timeout = aiohttp.ClientTimeout(total=120)
    headers = {"Authorization": f"Bearer {token}"}
    async with aiohttp.ClientSession(
        url or running_service.service.url, headers=headers, timeout=timeout
    ) as http:
        yield Administrator(http)
