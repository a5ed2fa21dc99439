"""The revisions and tables.py say the same, and the audit cannot be changed."""

from __future__ import annotations

import asyncio
import sys
import uuid

import asyncpg
import pytest

from service.store.migrate import check
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
    connection = await asyncpg.connect(database_url, timeout=10)
    try:
        await connection.execute(_ACCOUNT)
        await connection.execute(_RECORD)
        with pytest.raises(asyncpg.RaiseError, match="append-only"):
            await connection.execute(change)
    finally:
        await connection.close()
