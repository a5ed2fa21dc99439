"""The change feed: told after the commit, everywhere, and visible in the order of its ids."""

from __future__ import annotations

import asyncio

from sqlalchemy import insert, select, text

from service.lifecycle import Service, open_service
from service.store.changes import CHANNEL, FeedChange, note, note_all
from service.store.tables import accounts, changes
from tests.service.service_fixture import settings
from tests.support import eventually


async def account(service: Service) -> str:
    async with service.dependencies.engine.connect() as connection:
        return str((await connection.execute(select(accounts.c.id))).scalar_one())


async def announced_subjects(service: Service) -> list[str]:
    async with service.dependencies.engine.connect() as connection:
        query = select(changes.c.subject).order_by(changes.c.id)
        return list((await connection.execute(query)).scalars())


async def waits(service: Service) -> bool:
    async with service.dependencies.engine.connect() as connection:
        query = text("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
        return bool((await connection.execute(query)).scalar_one())


async def test_a_later_writer_waits_for_the_earlier_one(database_url: str) -> None:
    async with open_service(settings(database_url)) as service, asyncio.TaskGroup() as group:
        engine, where = service.dependencies.engine, await account(service)

        async def later() -> None:
            async with engine.begin() as connection:
                await note(connection, where, "agent.changed", "second", "")

        async with engine.begin() as connection:
            await note(connection, where, "agent.changed", "first", "")
            waiting = group.create_task(later(), name="later")
            await eventually(lambda: waits(service), what="the later one waits for its turn")
            assert await announced_subjects(service) == []
            assert not waiting.done()
        await waiting
        assert await announced_subjects(service) == ["first", "second"]


async def test_another_account_does_not_wait(database_url: str) -> None:
    async with open_service(settings(database_url)) as service:
        engine, where = service.dependencies.engine, await account(service)
        async with engine.begin() as connection:
            await connection.execute(insert(accounts).values(id="other", name="other"))
        async with engine.begin() as connection:
            await note(connection, where, "agent.changed", "first", "")
            async with asyncio.timeout(60), engine.begin() as beside:
                await note(beside, "other", "agent.changed", "beside", "")
            assert await announced_subjects(service) == ["beside"]


async def test_a_rolled_back_change_is_announced_to_nobody(database_url: str) -> None:
    heard: list[str] = []
    async with (
        open_service(settings(database_url)) as one,
        open_service(settings(database_url)) as two,
    ):
        where = await account(one)
        with two.dependencies.signals.subscribed(CHANNEL, heard.append):
            await eventually(lambda: heard, what="the server tells us things")
            async with one.dependencies.engine.connect() as connection:
                await note(connection, where, "agent.changed", "lost", "")
                await connection.rollback()
            async with one.dependencies.engine.begin() as connection:
                found = [FeedChange(type="fact", subject=name) for name in ("a", "b")]
                await note_all(connection, where, found)
            await eventually(lambda: where in heard)
        assert [it for it in heard if it] == [where]
        assert await announced_subjects(one) == ["a", "b"]
