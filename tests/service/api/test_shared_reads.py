"""Many who look at the same at once are one question to the agent."""

from __future__ import annotations

import asyncio

import pytest
from sqlalchemy import text

from bus.link import TaskKind
from service.gateway.tasks import NewTask, same_question
from tests.service.api.world import World
from tests.support import eventually

pytestmark = pytest.mark.flow

VIEWERS = 10
_LOCKS = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = {} AND {}"
_HERE = "(SELECT oid FROM pg_database WHERE datname = current_database())"


async def locks(world: World, which: str) -> int:
    async with world.engine.connect() as connection:
        return int((await connection.execute(text(_LOCKS.format(_HERE, which)))).scalar_one())


async def test_ten_viewers_at_once_are_one_task(world: World) -> None:
    agent = await world.agent("prod")
    path = f"/applications/{await world.application(agent, 'shop')}/diff"
    people = [await world.person("viewer", name=f"viewer-{n}") for n in range(VIEWERS)]
    new = NewTask(
        account_id=world.account,
        agent_id=agent,
        kind=TaskKind.DIFF,
        actor="nobody",
        subject="argocd/shop",
    )

    async def all_wait() -> bool:
        return await locks(world, "NOT granted") == VIEWERS

    async def all_asked() -> bool:
        return await locks(world, "true") == 0

    async with asyncio.TaskGroup() as group:
        async with world.engine.begin() as connection:
            await same_question(connection, new)
            looks = [group.create_task(it.get(path), name=it.name) for it in people]
            await eventually(all_wait)
        await eventually(all_asked)
        (task,) = await world.rows("tasks")
        await world.answer(result={"objects": ["one"]})
    assert {it.result().status for it in looks} == {200}
    assert {it.result().raw for it in looks} == {b'{"objects":["one"]}'}
    assert [row.id for row in await world.rows("tasks")] == [task.id]


async def ask(world: World, agent: str, **more: object) -> str:
    plain = {"kind": TaskKind.LIVE, "subject": "argocd/shop", "arguments": {"name": "a"}}
    new = NewTask(account_id=world.account, agent_id=agent, actor="mira", **{**plain, **more})  # type: ignore[arg-type]  # a table
    async with world.engine.begin() as connection:
        return await world.parts.tasks.share(connection, new)


async def test_another_question_is_another_task(world: World) -> None:
    agent, other = await world.agent("prod"), await world.agent("other")
    asked = [
        await ask(world, agent),
        await ask(world, other),
        await ask(world, agent, kind=TaskKind.EVENTS),
        await ask(world, agent, subject="argocd/web"),
        await ask(world, agent, arguments={"name": "b"}),
    ]
    assert len(set(asked)) == len(asked)
    assert await ask(world, agent) == asked[0]


async def test_what_was_answered_is_asked_anew(world: World) -> None:
    agent = await world.agent("prod")
    first = await ask(world, agent)
    await world.answer(result={})
    assert await ask(world, agent) != first


async def test_a_question_that_nobody_answers_is_not_waited_for_by_others(world: World) -> None:
    agent = await world.agent("prod")
    first = await ask(world, agent)
    world.clock.on(seconds=31)
    assert await ask(world, agent) != first
