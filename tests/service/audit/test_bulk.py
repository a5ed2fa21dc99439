"""A batch of records costs as many statements as one record, and makes the same chain."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import event, insert
from sqlalchemy.ext.asyncio import AsyncEngine

from service.audit.audit_book import record, record_all
from service.audit.audit_record import AuditEntry
from service.audit.verification import verify
from service.store.database import open_engine
from service.store.tables import accounts
from tests.service.service_fixture import key_file

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
MANY = 50


def entry(number: int) -> AuditEntry:
    return AuditEntry(
        account="acme",
        id=f"id{number}",
        time=NOON + timedelta(seconds=number),
        actor="agent/prod",
        action="drift.began",
        resource="argocd/shop",
    )


@pytest.fixture
async def engine(database_url: str) -> AsyncIterator[AsyncEngine]:
    async with open_engine(database_url, 4, keys=key_file()) as engine:
        async with engine.begin() as connection:
            await connection.execute(insert(accounts).values(id="acme", name="acme"))
        yield engine


@contextmanager
def counted(engine: AsyncEngine) -> Iterator[Callable[[], int]]:
    """Statements that were sent meanwhile."""
    seen: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_more: object) -> None:
        seen.append(statement)

    event.listen(engine.sync_engine, "before_cursor_execute", note)
    yield lambda: len(seen)
    event.remove(engine.sync_engine, "before_cursor_execute", note)


async def test_a_batch_costs_what_one_record_costs(engine: AsyncEngine) -> None:
    with counted(engine) as one_by_one:
        async with engine.begin() as connection:
            for number in range(MANY):
                await record(connection, entry(number))
    with counted(engine) as together:
        async with engine.begin() as connection:
            await record_all(connection, [entry(MANY + number) for number in range(MANY)])
    print(f"{MANY} records: {one_by_one()} statements one by one, {together()} together")
    assert together() == one_by_one() // MANY == 4
    async with engine.connect() as connection:
        verdict = await verify(connection, "acme", key_file().ring)
    assert (verdict.intact, verdict.records) == (True, 2 * MANY)


async def test_an_entry_recorded_twice_stands_in_the_audit_once(engine: AsyncEngine) -> None:
    async with engine.begin() as connection:
        assert len(await record_all(connection, [entry(1), entry(2), entry(1)])) == 2
        assert [it.entry.id for it in await record_all(connection, [entry(2), entry(3)])] == ["id3"]
        assert await record_all(connection, [entry(1)]) == []
        assert await record_all(connection, []) == ()
        verdict = await verify(connection, "acme", key_file().ring)
    assert (verdict.intact, verdict.records) == (True, 3)


async def test_batches_at_once_make_one_chain(engine: AsyncEngine) -> None:
    async def batch(start: int) -> None:
        async with engine.begin() as connection:
            await record_all(connection, [entry(start + number) for number in range(10)])

    async with asyncio.TaskGroup() as group:
        for start in range(0, 80, 10):
            group.create_task(batch(start), name=f"batch {start}")
    async with engine.connect() as connection:
        verdict = await verify(connection, "acme", key_file().ring)
    assert (verdict.intact, verdict.records) == (True, 80)
