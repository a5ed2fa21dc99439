"""Many who look at the same at once are one question to the agent."""

from __future__ import annotations

import asyncio

from sqlalchemy import text

from bus.link import DiffArguments, EventsArguments, LiveArguments
from service.gateway.task_store import QueuedTask, same_question
from tests.service.api.api_fixture import ApiFixture
from tests.support import eventually

VIEWERS = 10
_LOCKS = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = {} AND {}"
_HERE = "(SELECT oid FROM pg_database WHERE datname = current_database())"


async def locks(api: ApiFixture, which: str) -> int:
    async with api.engine.connect() as connection:
        return int((await connection.execute(text(_LOCKS.format(_HERE, which)))).scalar_one())


async def test_ten_viewers_at_once_are_one_task(api: ApiFixture) -> None:
    agent = await api.agent("prod")
    path = f"/applications/{await api.application(agent, 'shop')}/diff"
    people = [await api.person("viewer", name=f"viewer-{n}") for n in range(VIEWERS)]
    new = QueuedTask(
        account_id=api.account,
        agent_id=agent,
        arguments=DiffArguments(),
        actor="nobody",
        subject="argocd/shop",
    )

    async def all_wait() -> bool:
        return await locks(api, "NOT granted") == VIEWERS

    async def all_asked() -> bool:
        return await locks(api, "true") == 0

    async with asyncio.TaskGroup() as group:
        async with api.engine.begin() as connection:
            await same_question(connection, new)
            looks = [group.create_task(it.get(path), name=it.name) for it in people]
            await eventually(all_wait)
        await eventually(all_asked)
        (task,) = await api.rows("tasks")
        await api.answer(result={"objects": ["one"]})
    assert {it.result().status for it in looks} == {200}
    assert {it.result().raw for it in looks} == {b'{"objects":["one"]}'}
    assert [row.id for row in await api.rows("tasks")] == [task.id]


async def ask(api: ApiFixture, agent: str, **more: object) -> str:
    plain = {"subject": "argocd/shop", "arguments": LiveArguments(name="a")}
    new = QueuedTask(account_id=api.account, agent_id=agent, actor="mira", **{**plain, **more})  # type: ignore[arg-type]  # a table
    async with api.engine.begin() as connection:
        return await api.dependencies.tasks.share(connection, new)


async def test_reads_with_other_arguments_are_other_tasks(api: ApiFixture) -> None:
    agent, other = await api.agent("prod"), await api.agent("other")
    asked = [
        await ask(api, agent),
        await ask(api, other),
        await ask(api, agent, arguments=EventsArguments(name="a")),
        await ask(api, agent, subject="argocd/web"),
        await ask(api, agent, arguments=LiveArguments(name="b")),
    ]
    assert len(set(asked)) == len(asked)
    assert await ask(api, agent) == asked[0]


async def test_what_was_answered_is_asked_anew(api: ApiFixture) -> None:
    agent = await api.agent("prod")
    first = await ask(api, agent)
    await api.answer(result={})
    assert await ask(api, agent) != first


async def test_a_question_that_nobody_answers_is_not_waited_for_by_others(
    api: ApiFixture,
) -> None:
    agent = await api.agent("prod")
    first = await ask(api, agent)
    api.clock.on(seconds=31)
    assert await ask(api, agent) != first
