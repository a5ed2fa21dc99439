"""An agent that falls silent: each step of the ladder is told once, however many look."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import insert, select, update
from sqlalchemy.ext.asyncio import AsyncEngine

from bus.identity import new_id
from bus.link import Fenced
from service.gateway.agent_status import report_liveness, status_of
from service.gateway.enrolment import revoke
from service.lifecycle import now
from service.store.database import open_engine
from service.store.tables import accounts, agents, changes
from tests.service.fake_agent import connect
from tests.service.service_fixture import RunningService
from tests.support import eventually

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.fixture
async def engine(database_url: str) -> AsyncIterator[AsyncEngine]:
    """A database on which no service runs: the only clock is the test's."""
    async with open_engine(database_url, 4) as engine:
        async with engine.begin() as connection:
            await connection.execute(insert(accounts).values(id="acme", name="acme"))
        yield engine


@pytest.mark.parametrize(
    ("seconds", "connected", "expected"),
    [
        (0, True, "connected"),
        (44, True, "connected"),
        (45, True, "stale"),
        (119, True, "stale"),
        (120, True, "disconnected"),
        (0, False, "disconnected"),
        (899, False, "disconnected"),
        (900, False, "lost"),
        (900, True, "lost"),
    ],
)
def test_the_status_falls_with_the_time_since_the_last_frame(
    seconds: float,
    connected: bool,  # noqa: FBT001  a table
    expected: str,
) -> None:
    heard = NOON - timedelta(seconds=seconds)
    assert status_of("enrolled", heard, NOON, connected=connected) == expected


def test_an_agent_that_never_connected_waits_and_a_revoked_one_is_revoked() -> None:
    assert status_of("created", None, NOON, connected=False) == "waiting"
    assert status_of("revoked", NOON, NOON, connected=True) == "revoked"


async def silent_agent(engine: AsyncEngine) -> str:
    """Heard at noon, by a replica that died while it held the link."""
    row = {"id": new_id(), "account_id": "acme", "name": new_id(), "state": "enrolled"}
    heard = {"status": "connected", "connected": True, "heard_at": NOON}
    async with engine.begin() as connection:
        await connection.execute(insert(agents).values(**row, **heard))
    return row["id"]


async def announced_statuses(engine: AsyncEngine, agent_id: str) -> list[Any]:
    query = select(changes.c.body).where(changes.c.agent_id == agent_id).order_by(changes.c.id)
    async with engine.connect() as connection:
        bodies = (await connection.execute(query)).scalars().all()
    return [body["status"] for body in bodies if "status" in body]


async def test_each_change_of_status_is_announced_as_time_goes_on(engine: AsyncEngine) -> None:
    agent = await silent_agent(engine)
    for seconds in (1, 44, 46, 60, 119, 121, 500, 901, 5000):
        await report_liveness(engine, NOON + timedelta(seconds=seconds))
    assert await announced_statuses(engine, agent) == ["stale", "disconnected", "lost"]


async def test_one_of_many_replicas_announces_a_change_of_status(
    engine: AsyncEngine, database_url: str
) -> None:
    silent = [await silent_agent(engine) for _ in range(8)]
    async with open_engine(database_url, 4) as other, asyncio.TaskGroup() as group:
        looks = [
            group.create_task(
                report_liveness(replica, NOON + timedelta(minutes=3)), name=f"look {n}"
            )
            for n, replica in enumerate((engine, other) * 2)
        ]
    assert sum(it.result() for it in looks) == len(silent)
    for agent in silent:
        assert await announced_statuses(engine, agent) == ["disconnected"]


async def test_an_agent_that_sends_again_is_announced_as_connected(engine: AsyncEngine) -> None:
    agent = await silent_agent(engine)
    await report_liveness(engine, NOON + timedelta(seconds=60))
    async with engine.begin() as connection:
        await connection.execute(update(agents).values(heard_at=NOON + timedelta(seconds=61)))
    await report_liveness(engine, NOON + timedelta(seconds=62))
    assert await announced_statuses(engine, agent) == ["stale", "connected"]


async def test_an_agent_that_never_connected_is_not_announced(engine: AsyncEngine) -> None:
    agent = await silent_agent(engine)
    async with engine.begin() as connection:
        await connection.execute(update(agents).values(heard_at=None, connected=False))
    assert await report_liveness(engine, NOON + timedelta(hours=1)) == 0
    assert await announced_statuses(engine, agent) == []


async def test_the_end_of_a_link_is_announced_and_shown_at_once(
    running_service: RunningService,
) -> None:
    identity = await running_service.enrolled()
    async with connect(identity) as link:
        await link.hello(identity, "e")
        assert await status_now(running_service) == "connected"

    async def ended() -> bool:
        return await status_now(running_service) == "disconnected"

    await eventually(ended)
    (row,) = await running_service.rows(agents)
    *_, last = await announced_statuses(running_service.service.dependencies.engine, row.id)
    assert last == "disconnected"


async def test_a_revoked_agent_is_not_announced_as_disconnected(
    running_service: RunningService,
) -> None:
    identity = await running_service.enrolled()
    (row,) = await running_service.rows(agents)
    async with connect(identity) as link:
        await link.hello(identity, "e")
        async with running_service.service.dependencies.engine.begin() as connection:
            await revoke(connection, row.id, now())
        await link.until(Fenced)
        with pytest.raises(ConnectionError):
            await link.receive()
    *_, last = await announced_statuses(running_service.service.dependencies.engine, row.id)
    assert last == "revoked"


async def status_now(running_service: RunningService) -> str:
    (row,) = await running_service.rows(agents)
    return status_of(row.state, row.heard_at, now(), connected=row.connected)
