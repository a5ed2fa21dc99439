"""The revisions and tables.py say the same, and the audit cannot be changed."""

from __future__ import annotations

import asyncio
import sys
import uuid
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest
from alembic import command

from bus.identity import new_id
from service.store.migrate import alembic_config, check, migrate
from tests.databases import new_database

_ACCOUNT = "INSERT INTO accounts (id, name) VALUES ('a', 'a')"
_RECORD = (
    "INSERT INTO audit (sequence, account_id, id, time, actor, action, resource, decision, source,"
    " previous, hash) VALUES (1, 'a', 'r', now(), 'me', 'look', 'at', 'allowed', 'api', '', 'h')"
)


async def test_autogenerate_finds_no_difference(database_url: str) -> None:
    await asyncio.to_thread(check, database_url)


async def test_two_replicas_may_migrate_at_once(postgres_url: str) -> None:
    """In processes of their own: alembic keeps its state in its modules."""
    url = await new_database(postgres_url, f"raced_{uuid.uuid4().hex}")
    code = "import sys; from service.store.migrate import migrate; migrate(sys.argv[1])"
    racers = [
        await asyncio.create_subprocess_exec(sys.executable, "-c", code, url) for _ in range(2)
    ]
    assert [await racer.wait() for racer in racers] == [0, 0]


@pytest.mark.parametrize(
    "change", ["UPDATE audit SET actor = 'you'", "DELETE FROM audit", "TRUNCATE audit"]
)
async def test_audit_refuses_change(database_url: str, change: str) -> None:
    connection = await asyncpg.connect(database_url, timeout=180)
    try:
        await connection.execute(_ACCOUNT)
        await connection.execute(_RECORD)
        with pytest.raises(asyncpg.RaiseError, match="append-only"):
            await connection.execute(change)
    finally:
        await connection.close()


_AGENT = "INSERT INTO agents (id, account_id, name) VALUES ('p', 'a', 'prod')"
_FACT = (
    "INSERT INTO facts (agent_id, event_id, type, subject, time)"
    " VALUES ('p', $1, 't', 's', now() - $2::interval)"
)
_DRIFT = (
    "INSERT INTO drifts (id, agent_id, subject, object, began_at)"
    " VALUES ('d', 'p', 's', 'o', now() - interval '70 days')"
)
_TASK = (
    "INSERT INTO tasks (id, account_id, agent_id, kind, clazz, actor, principal_id,"
    " idempotency_key) VALUES ($1, 'a', 'p', 'sync', 'control', 'me', 'me', 'k')"
)
_PLACES = "SELECT event_id, tableoid::regclass::text AS place FROM facts ORDER BY event_id"


async def test_rows_from_before_move_into_the_partition_of_their_month(postgres_url: str) -> None:
    url = await new_database(postgres_url, f"moved_{uuid.uuid4().hex}")
    await asyncio.to_thread(command.upgrade, alembic_config(url), "0007")
    connection = await asyncpg.connect(url, timeout=180)
    try:
        for statement in (_ACCOUNT, _RECORD, _AGENT, _DRIFT):
            await connection.execute(statement)
        for event, days in (("1", 0), ("2", 70), ("3", 20 * 365)):
            await connection.execute(_FACT, event, timedelta(days=days))
        await connection.execute(_TASK, new_id())
        await asyncio.to_thread(migrate, url)
        places = [row["place"] for row in await connection.fetch(_PLACES)]
        today, then = (datetime.now(UTC) - timedelta(days=it) for it in (0, 70))
        assert places == [f"facts_{today:%Y_%m}", f"facts_{then:%Y_%m}", "facts_other"]
        for table in ("drifts", "tasks", "audit", "idempotency_keys"):
            assert await connection.fetchval(f"SELECT count(*) FROM {table}") == 1  # noqa: S608
        await connection.execute(_FACT, "4", timedelta())
        numbers = await connection.fetch("SELECT id FROM facts ORDER BY event_id")
        assert [row["id"] for row in numbers] == [1, 2, 3, 4]
    finally:
        await connection.close()
