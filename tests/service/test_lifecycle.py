"""The service's life: the first start makes a place and a person, later ones change nothing."""

from __future__ import annotations

import asyncio
import uuid
from pathlib import Path

import aiohttp
import pytest
from sqlalchemy import insert, select
from sqlalchemy.ext.asyncio import AsyncEngine

from bus.identity import new_id
from service.auth.credentials import API_TOKEN, hash_of, new_secret
from service.auth.passwords import hash_password
from service.bootstrap import bootstrap
from service.lifecycle import Service, open_service
from service.settings import InvalidServiceSettingsError, load
from service.store.database import open_engine
from service.store.tables import (
    accounts,
    api_tokens,
    audit,
    bindings,
    organisations,
    principals,
    projects,
    roles,
)
from tests.databases import new_database
from tests.service.service_fixture import RunningService, settings


async def test_the_first_start_makes_an_administrator(postgres_url: str) -> None:
    url = await new_database(postgres_url, f"first_{uuid.uuid4().hex}")
    async with open_service(settings(url, migrate=True)) as service:
        running_service = RunningService(service)
        assert len(service.generated_password) > 20
        for table in (accounts, organisations, projects):
            assert [row.name for row in await running_service.rows(table)] == ["default"]
        (admin,) = await running_service.rows(principals)
        (binding,) = await running_service.rows(bindings)
        role = next(row for row in await running_service.rows(roles) if row.id == binding.role_id)
        assert (admin.name, role.name) == ("admin", "administrator")
        assert service.generated_password not in admin.password_hash


async def test_a_later_start_changes_nothing(database_url: str) -> None:
    async with open_service(settings(database_url)) as first:
        before = await RunningService(first).rows(principals)
    async with open_service(settings(database_url)) as second:
        assert second.generated_password == ""
        assert await RunningService(second).rows(principals) == before


async def test_a_configured_password_is_not_printed(database_url: str, tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("correct horse battery staple\n")
    async with open_service(settings(database_url, admin_password_file=file)) as service:
        assert service.generated_password == ""
        async with service.dependencies.engine.connect() as connection:
            kept = (await connection.execute(select(principals.c.password_hash))).scalar_one()
    assert kept.startswith("$argon2id$")
    assert kept != hash_password("correct horse battery staple")


async def test_replicas_that_start_at_once_make_one_account(database_url: str) -> None:
    async with open_engine(database_url) as engine:
        async with asyncio.TaskGroup() as group:
            starts = [
                group.create_task(bootstrap(engine, settings(database_url)), name=f"start {n}")
                for n in range(3)
            ]
        async with engine.connect() as connection:
            assert len((await connection.execute(select(accounts))).all()) == 1
    assert len([it for it in starts if it.result()]) == 1


async def test_the_service_serves_until_it_is_closed(database_url: str) -> None:
    async with open_service(settings(database_url)) as service:
        url = f"{service.url}/api/v1/link"
        async with aiohttp.ClientSession() as http, http.get(url) as answer:
            assert answer.status == 401
            assert answer.content_type == "application/problem+json"
    async with aiohttp.ClientSession() as http:
        with pytest.raises(aiohttp.ClientConnectionError):
            await http.get(url)


async def test_what_was_denied_is_recorded_when_the_service_ends(database_url: str) -> None:
    async with open_service(settings(database_url)) as service:
        token = await without_a_role(RunningService(service))
        for _ in range(5):
            assert await made_agent(service, token) == 403
        assert await denied(service.dependencies.engine) == [1]
    async with open_engine(database_url) as engine:
        assert await denied(engine) == [1, 4]


async def without_a_role(running_service: RunningService) -> str:
    """The token of a new principal who may do nothing."""
    token, who = new_secret(API_TOKEN), new_id()
    (account,) = await running_service.rows(accounts)
    mine = {"account_id": account.id, "principal_id": who}
    async with running_service.service.dependencies.engine.begin() as connection:
        person = {"id": who, "account_id": account.id, "kind": "service", "name": "nobody"}
        await connection.execute(insert(principals).values(person))
        made = {"id": new_id(), "name": "test", "hash": hash_of(token), **mine}
        await connection.execute(insert(api_tokens).values(made))
    return token


async def made_agent(service: Service, token: str) -> int:
    """The status of an attempt to create an agent."""
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        aiohttp.ClientSession(headers=headers) as http,
        http.post(f"{service.url}/api/v1/agents", json={"name": "prod"}) as answer,
    ):
        return answer.status


async def denied(engine: AsyncEngine) -> list[int]:
    """How many each record of a denial stands for."""
    async with engine.connect() as connection:
        mine = select(audit.c.detail).where(audit.c.decision == "denied")
        found = (await connection.execute(mine.order_by(audit.c.sequence))).scalars()
        return [detail.get("count", 1) for detail in found]


def test_all_wrong_settings_are_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITOPS_SERVICE_PORT", "99999")
    monkeypatch.setenv("GITOPS_SERVICE_SESSION_SECONDS", "never-secret")
    monkeypatch.delenv("GITOPS_SERVICE_DATABASE_URL", raising=False)
    with pytest.raises(InvalidServiceSettingsError) as wrong:
        load()
    message = str(wrong.value)
    for name in ("DATABASE_URL", "KEY_FILE", "PORT", "SESSION_SECONDS"):
        assert f"GITOPS_SERVICE_{name}" in message
    assert "never-secret" not in message
