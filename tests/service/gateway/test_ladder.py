"""An agent that falls silent: each step of the ladder is told once, however many look."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import insert, select, update
from sqlalchemy.ext.asyncio import AsyncEngine

from bus.ids import new_id
from bus.link import Fenced
from service.app import now
from service.gateway.enrolment import revoke
from service.gateway.ladder import status_of
from service.gateway.silence import tell_silence
from service.store.database import open_engine
from service.store.tables import accounts, agents, changes
from tests.service.client import connect
from tests.service.world import World
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
    ("seconds", "connected", "said"),
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
def test_the_ladder(seconds: float, connected: bool, said: str) -> None:  # noqa: FBT001  a table
    heard = NOON - timedelta(seconds=seconds)
    assert status_of("enrolled", heard, NOON, connected=connected) == said


def test_never_heard_and_revoked_are_no_steps_of_it() -> None:
    assert status_of("created", None, NOON, connected=False) == "waiting"
    assert status_of("revoked", NOON, NOON, connected=True) == "revoked"


async def silent_agent(engine: AsyncEngine) -> str:
    """Heard at noon, by a replica that died while it held the link."""
    row = {"id": new_id(), "account_id": "acme", "name": new_id(), "state": "enrolled"}
    heard = {"status": "connected", "connected": True, "heard_at": NOON}
    async with engine.begin() as connection:
        await connection.execute(insert(agents).values(**row, **heard))
    return row["id"]


async def told(engine: AsyncEngine, agent_id: str) -> list[Any]:
    query = select(changes.c.body).where(changes.c.agent_id == agent_id).order_by(changes.c.id)
    async with engine.connect() as connection:
        bodies = (await connection.execute(query)).scalars().all()
    return [body["status"] for body in bodies if "status" in body]


async def test_each_step_is_told_as_time_goes_on(engine: AsyncEngine) -> None:
    agent = await silent_agent(engine)
    for seconds in (1, 44, 46, 60, 119, 121, 500, 901, 5000):
        await tell_silence(engine, NOON + timedelta(seconds=seconds))
    assert await told(engine, agent) == ["stale", "disconnected", "lost"]


async def test_of_many_replicas_one_tells(engine: AsyncEngine, database_url: str) -> None:
    silent = [await silent_agent(engine) for _ in range(8)]
    async with open_engine(database_url, 4) as other, asyncio.TaskGroup() as group:
        looks = [
            group.create_task(tell_silence(replica, NOON + timedelta(minutes=3)), name=f"look {n}")
            for n, replica in enumerate((engine, other) * 2)
        ]
    assert sum(it.result() for it in looks) == len(silent)
    for agent in silent:
        assert await told(engine, agent) == ["disconnected"]


async def test_who_is_heard_again_goes_up_again(engine: AsyncEngine) -> None:
    agent = await silent_agent(engine)
    await tell_silence(engine, NOON + timedelta(seconds=60))
    async with engine.begin() as connection:
        await connection.execute(update(agents).values(heard_at=NOON + timedelta(seconds=61)))
    await tell_silence(engine, NOON + timedelta(seconds=62))
    assert await told(engine, agent) == ["stale", "connected"]


async def test_who_was_never_heard_is_not_told_of(engine: AsyncEngine) -> None:
    agent = await silent_agent(engine)
    async with engine.begin() as connection:
        await connection.execute(update(agents).values(heard_at=None, connected=False))
    assert await tell_silence(engine, NOON + timedelta(hours=1)) == 0
    assert await told(engine, agent) == []


async def test_a_link_that_ends_is_told_and_shown_at_once(world: World) -> None:
    identity = await world.enrolled()
    async with connect(identity) as link:
        await link.hello(identity, "e")
        assert await said_now(world) == "connected"

    async def ended() -> bool:
        return await said_now(world) == "disconnected"

    await eventually(ended)
    (row,) = await world.rows(agents)
    assert (await told(world.service.parts.engine, row.id))[-1] == "disconnected"


async def test_a_revoked_agent_is_not_said_to_be_merely_disconnected(world: World) -> None:
    identity = await world.enrolled()
    (row,) = await world.rows(agents)
    async with connect(identity) as link:
        await link.hello(identity, "e")
        async with world.service.parts.engine.begin() as connection:
            await revoke(connection, row.id, now())
        await link.until(Fenced)
        with pytest.raises(ConnectionError):
            await link.receive()
    assert (await told(world.service.parts.engine, row.id))[-1] == "revoked"


async def said_now(world: World) -> str:
    (row,) = await world.rows(agents)
    return status_of(row.state, row.heard_at, now(), connected=row.connected)
