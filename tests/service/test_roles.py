"""The service runs with a role that owns no table, and of the audit may only read and add."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import date
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest

from bus.identity import new_id
from service.retention import policy
from service.retention.policy import RecordClass
from service.store.migrate import grant
from tests.paths import REPOSITORY
from tests.service.fake_agent import FakeOutbox, application, connect
from tests.service.service_fixture import RunningService, open_service, settings


@pytest.fixture
async def role_url(database_url: str) -> AsyncIterator[str]:
    """The database as a role of its own sees it."""
    role = f"service_{new_id().replace('-', '')}"
    owner = await asyncpg.connect(database_url, timeout=180)
    await owner.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'x'")
    await grant(database_url, role)
    parts = urlsplit(database_url)
    _, _, host = parts.netloc.rpartition("@")
    yield urlunsplit(parts._replace(netloc=f"{role}:x@{host}"))
    await owner.execute(f"DROP OWNED BY {role}")
    await owner.execute(f"DROP ROLE {role}")
    await owner.close()


async def test_the_service_does_all_of_its_work_as_a_role_that_owns_nothing(role_url: str) -> None:
    async with open_service(settings(role_url)) as service:
        running_service = RunningService(service)
        identity, outbox = await running_service.enrolled(), FakeOutbox()
        async with connect(identity) as link:
            await link.hello(identity, outbox.epoch)
            await link.put([outbox.state(application("shop"))])
        assert (await running_service.call("GET", "/audit/verify"))[1]["ok"]
        status, listed = await running_service.call("GET", "/applications")
    assert (status, len(listed["items"])) == (200, 1)


async def test_the_services_role_makes_and_drops_partitions_by_the_owners_functions(
    role_url: str,
) -> None:
    async with open_service(settings(role_url)) as service:
        old = date(2020, 5, 1)
        async with service.dependencies.engine.begin() as connection:
            assert await policy.add_month(connection, RecordClass.FACTS, old)
        async with service.dependencies.engine.begin() as connection:
            await policy.drop_month(connection, RecordClass.FACTS, old)
            assert old not in await policy.months(connection, RecordClass.FACTS)


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE audit DISABLE TRIGGER audit_append_only",
        "DROP TRIGGER audit_append_only ON audit",
        "UPDATE audit SET actor = 'nobody'",
        "DELETE FROM audit",
        "TRUNCATE audit",
        "DELETE FROM audit_other",
        "DROP TABLE audit_other",
        "ALTER TABLE audit DETACH PARTITION audit_other",
        "SET session_replication_role = replica",
        "ALTER TABLE audit OWNER TO CURRENT_USER",
    ],
)
async def test_the_services_role_cannot_change_the_record(role_url: str, statement: str) -> None:
    async with open_service(settings(role_url)) as service:
        await RunningService(service).enrolled()
    connection = await asyncpg.connect(role_url, timeout=180)
    try:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.execute(statement)
    finally:
        await connection.close()


def test_whoever_records_something_has_the_keys_that_sign_it() -> None:
    """One unsigned record, and the service vouches for none that follows."""
    root = REPOSITORY
    files = [it for part in ("service", "cli") for it in (root / part).rglob("*.py")]
    calls = [
        (file.name, line.strip())
        for file in files
        if file.name != "database.py"
        for line in file.read_text().splitlines()
        if "open_engine(" in line and "keys=" not in line
    ]
    assert [name for name, _ in calls] == ["migrate.py"], calls
