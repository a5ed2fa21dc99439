"""`gitops service grant-admin` and `reset-password`, as an operator calls them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from argon2 import PasswordHasher
from sqlalchemy import insert

from service.auth.administrators import has_administrator
from service.auth.login_attempts import locks_of, locks_of_device, locks_of_principal
from service.lifecycle import now
from service.store.tables import known_devices, login_failures
from tests.service.api.api_fixture import ApiFixture, open_api_fixture
from tests.service.service_fixture import key_path
from tests.unit.cli.conftest import Gitops


def environment(database_url: str) -> dict[str, str]:
    """The settings of the service that the commands work for."""
    return {
        "GITOPS_SERVICE_DATABASE_URL": database_url,
        "GITOPS_SERVICE_KEY_FILE": str(key_path()),
    }


@pytest.fixture
async def api(database_url: str) -> AsyncIterator[ApiFixture]:
    async with open_api_fixture(database_url) as opened:
        yield opened


async def test_an_account_that_nobody_administers_gets_an_administrator(
    api: ApiFixture, gitops: Gitops, database_url: str
) -> None:
    mira = await api.person("viewer", name="mira")
    verb = ("service", "grant-admin", "mira")
    for _ in range(2):
        ran = await asyncio.to_thread(gitops, *verb, **environment(database_url))
        assert ran.code == 0, ran.err
    assert (await mira.get("/principals")).status == 200
    async with api.engine.connect() as connection:
        assert await has_administrator(connection, api.account)
    wide = [it for it in await api.rows("bindings") if it.principal_id == mira.id]
    assert len(wide) == 2
    records = [(it.actor, it.action, it.resource) for it in await api.rows("audit")]
    assert records[0] == ("command line", "administrator.granted", "principal/mira")
    assert all(it.signature for it in await api.rows("audit"))


async def test_a_reset_password_is_shown_once_and_ends_what_was_open(
    api: ApiFixture, gitops: Gitops, database_url: str
) -> None:
    mira = await api.person("viewer", name="mira")
    verb = ("service", "reset-password", "mira")
    ran = await asyncio.to_thread(gitops, *verb, **environment(database_url))
    assert ran.code == 0, ran.err
    password = ran.out.rsplit(": ", 1)[1].strip()
    (row,) = await api.rows("principals")
    assert PasswordHasher().verify(row.password_hash, password)
    assert (await mira.get("/me")).status == 401
    (record,) = await api.rows("audit")
    assert (record.action, password in str(record)) == ("password.reset", False)


async def test_a_reset_password_lets_in_who_was_held_off(
    api: ApiFixture, gitops: Gitops, database_url: str
) -> None:
    """Also from the address that failed too often; a stranger's failures stay."""
    mira = await api.person("viewer", name="mira")
    held = (
        *locks_of("default", "mira", "192.0.2.7")[:2],
        *locks_of_device("known"),
        *locks_of_principal(mira.id),
    )
    other = locks_of("default", "tom", "192.0.2.7")
    later = now() + timedelta(hours=1)
    async with api.engine.begin() as connection:
        device = {"account_id": api.account, "principal_id": mira.id, "expires_at": later}
        await connection.execute(insert(known_devices).values(hash="known", **device))
        for lock in (*held, *other):
            row = {"key": lock.key, "count": 99, "until": later}
            await connection.execute(insert(login_failures).values(row))
    ran = await asyncio.to_thread(
        gitops, "service", "reset-password", "mira", **environment(database_url)
    )
    assert ran.code == 0, ran.err
    left = {it.key for it in await api.rows("login_failures")}
    assert left == {lock.key for lock in other}


@pytest.mark.parametrize(("password", "code"), [(b"correct horse\n", 0), (b"short\n", 2)])
async def test_a_password_is_read_from_standard_input(
    api: ApiFixture, gitops: Gitops, database_url: str, password: bytes, code: int
) -> None:
    await api.person("viewer", name="mira")
    verb = ("service", "reset-password", "mira", "--stdin")
    ran = await asyncio.to_thread(gitops, *verb, stdin=password, **environment(database_url))
    (row,) = await api.rows("principals")
    assert ran.code == code
    assert password.decode().strip() not in ran.out
    if code == 0:
        assert PasswordHasher().verify(row.password_hash, password.decode().strip())


async def test_an_unknown_user_is_named_with_those_that_there_are(
    api: ApiFixture, gitops: Gitops, database_url: str
) -> None:
    await api.person("viewer", name="mira")
    for verb in ("grant-admin", "reset-password"):
        ran = await asyncio.to_thread(gitops, "service", verb, "tom", **environment(database_url))
        assert (ran.code, ran.out) == (1, "")
        assert "account default has no user tom; its users: mira" in ran.err
