"""The life of a task: offered when committed, leased, repeated, ended; waited for anywhere."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy.exc import IntegrityError

from bus.link import (
    Cancel,
    Chunk,
    Credit,
    End,
    Offer,
    TaskClass,
    TaskKind,
    TaskPhase,
    TaskProgress,
    TaskResult,
)
from service.app import now
from service.gateway.ladder import LOST_AFTER
from service.gateway.offering import AT_ONCE
from service.gateway.streams import Piece, Streams
from service.gateway.sweep import sweep
from service.gateway.tasks import NewTask
from service.store.tables import agents, tasks
from tests.service.client import Connection, Identity, Outbox, connect
from tests.service.world import World, open_service, settings


@pytest.fixture
async def second(database_url: str, world: World) -> AsyncIterator[World]:
    async with open_service(settings(database_url)) as service:
        yield World(service)


@pytest.fixture
async def identity(world: World) -> Identity:
    return await world.enrolled()


async def submit(world: World, kind: TaskKind = TaskKind.SYNC, **more: Any) -> str:
    (agent,) = await world.rows(agents)
    new = NewTask(
        account_id=agent.account_id,
        agent_id=agent.id,
        kind=kind,
        subject="argocd/shop",
        actor="ann",
        **more,
    )
    parts = world.service.parts
    async with parts.engine.begin() as connection:
        return await parts.tasks.submit(connection, new)


async def answer(link: Connection, outbox: Outbox, task_id: str, body: object = None) -> None:
    result = TaskResult(id=task_id, phase=TaskPhase.SUCCEEDED, code="ok", body=body)
    await link.put([outbox.task("result.v1", result)])


async def phase(world: World, task_id: str) -> str:
    return str(next(row.phase for row in await world.rows(tasks) if row.id == task_id))


async def test_a_task_is_offered_answered_and_waited_for(
    world: World, second: World, identity: Identity
) -> None:
    outbox = Outbox()
    async with connect(identity) as link, asyncio.TaskGroup() as group:
        await link.hello(identity, outbox.epoch)
        task_id = await submit(second, arguments={"revision": "abc"}, precondition={"uid": "u"})
        waiting = group.create_task(second.service.parts.tasks.result(task_id, 20), name="wait")
        task = (await link.until(Offer)).task
        assert (task.id, task.arguments, task.precondition) == (
            task_id,
            {"revision": "abc"},
            {"uid": "u"},
        )
        await answer(link, outbox, task_id, {"nodes": [1]})
    ended = waiting.result()
    assert ended is not None
    assert (ended.phase, ended.code, ended.result) == (TaskPhase.SUCCEEDED, "ok", {"nodes": [1]})


async def test_a_task_waits_for_its_agent(world: World, identity: Identity) -> None:
    task_id = await submit(world)
    async with connect(identity) as link:
        await link.hello(identity, "e")
        assert (await link.until(Offer)).task.id == task_id


async def test_what_was_offered_is_offered_again_after_a_reconnect(
    world: World, identity: Identity
) -> None:
    task_id, outbox = await submit(world), Outbox()
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        await link.until(Offer)
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        assert (await link.until(Offer)).task.id == task_id
        await answer(link, outbox, task_id)
    (row,) = await world.rows(tasks)
    assert (row.phase, row.attempts) == ("succeeded", 2)


async def test_what_runs_there_is_not_offered_again(world: World, identity: Identity) -> None:
    running = await submit(world)
    async with connect(identity) as link:
        await link.hello(identity, "e")
        await link.until(Offer)
    waiting = await submit(world)
    async with connect(identity) as link:
        await link.hello(identity, "e", running=(running,))
        assert (await link.until(Offer)).task.id == waiting
    assert await phase(world, running) == "running"


async def test_a_lost_lease_is_offered_again_and_progress_keeps_it(
    world: World, identity: Identity
) -> None:
    lost, outbox = await submit(world), Outbox()
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        await link.until(Offer)
        await _backdate(world, lease_until=now() - timedelta(seconds=1))
        assert (await link.until(Offer)).task.id == lost
        await _backdate(world, lease_until=now() - timedelta(seconds=1))
        said = TaskProgress(id=lost, message="half way", done=1, total=2)
        await link.put([outbox.task("progress.v1", said)])
    (row,) = await world.rows(tasks)
    assert (row.phase, row.progress["message"]) == ("running", "half way")
    assert row.lease_until > now()


async def test_a_repeated_result_changes_nothing(world: World, identity: Identity) -> None:
    task_id, outbox = await submit(world), Outbox()
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        await link.until(Offer)
        await answer(link, outbox, task_id, "first")
        await answer(link, outbox, task_id, "second")
    (row,) = await world.rows(tasks)
    assert row.result == "first"


async def test_a_class_is_limited_and_does_not_hold_up_another(
    world: World, identity: Identity
) -> None:
    many = AT_ONCE[TaskClass.BULK] + 3
    bulk = {await submit(world, clazz=TaskClass.BULK) for _ in range(many)}
    urgent = await submit(world, clazz=TaskClass.INTERACTIVE)
    outbox = Outbox()
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        offered = [(await link.until(Offer)).task.id for _ in range(AT_ONCE[TaskClass.BULK] + 1)]
        assert offered[0] == urgent
        assert set(offered[1:]) < bulk
        await answer(link, outbox, offered[1])
        assert (await link.until(Offer)).task.id in bulk - set(offered)


async def test_a_queued_task_is_cancelled_at_once(world: World, identity: Identity) -> None:
    task_id, queue = await submit(world), world.service.parts.tasks
    async with world.service.parts.engine.begin() as connection:
        assert await queue.cancel(connection, task_id) is TaskPhase.CANCELLED
    ended = await queue.result(task_id, 5)
    assert ended is not None
    assert ended.phase is TaskPhase.CANCELLED


async def test_a_begun_task_is_cancelled_by_its_agent(world: World, identity: Identity) -> None:
    task_id, outbox = await submit(world), Outbox()
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        await link.until(Offer)
        async with world.service.parts.engine.begin() as connection:
            await world.service.parts.tasks.cancel(connection, task_id)
        assert (await link.until(Cancel)).id == task_id
        done = TaskResult(id=task_id, phase=TaskPhase.CANCELLED, code="cancelled")
        await link.put([outbox.task("result.v1", done)])
    assert await phase(world, task_id) == "cancelled"


async def test_a_task_nobody_took_expires(world: World, identity: Identity) -> None:
    task_id = await submit(world, not_after=now() - timedelta(seconds=1))
    await sweep(world.service.parts.engine, now())
    assert await phase(world, task_id) == "expired"


async def test_a_write_whose_agent_is_lost_is_unknown_until_it_comes_back(
    world: World, identity: Identity
) -> None:
    task_id, outbox = await submit(world, not_after=now() + timedelta(minutes=1)), Outbox()
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        await link.until(Offer)
    await sweep(world.service.parts.engine, now() + 2 * LOST_AFTER)
    assert await phase(world, task_id) == "unknown"
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        await answer(link, outbox, task_id)
    assert await phase(world, task_id) == "succeeded"


async def test_a_quarantined_agent_is_offered_nothing(world: World, identity: Identity) -> None:
    first = Outbox()
    async with connect(identity) as link:
        await link.hello(identity, first.epoch)
    await submit(world)
    async with connect(identity) as link:
        assert (await link.hello(identity, "another")).quarantined
        await link.put(())
    assert (await world.rows(tasks))[0].phase == "queued"


async def test_an_idempotency_key_is_used_once(world: World, identity: Identity) -> None:
    await submit(world, principal_id="p", idempotency_key="k")
    with pytest.raises(IntegrityError):
        await submit(world, principal_id="p", idempotency_key="k")


async def test_an_agent_ends_only_its_own_tasks(world: World, identity: Identity) -> None:
    task_id = await submit(world)
    other, outbox = await world.enrolled("other"), Outbox()
    async with connect(other) as link:
        await link.hello(other, outbox.epoch)
        await answer(link, outbox, task_id)
    assert await phase(world, task_id) == "queued"


async def test_a_result_that_is_too_large_is_not_kept(world: World, identity: Identity) -> None:
    task_id, outbox = await submit(world), Outbox()
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        await answer(link, outbox, task_id, "x" * 300_000)
    (row,) = await world.rows(tasks)
    assert row.result is None
    assert "too large" in row.message


async def test_a_stream_is_read_on_another_replica_with_credit(
    world: World, second: World, identity: Identity
) -> None:
    parts = second.service.parts
    streams = Streams(engine=parts.engine, signals=parts.signals)
    task_id, (agent,) = await submit(world, TaskKind.LOGS), await world.rows(agents)
    text = "a line with a NUL-free umlaut ü\n" * 400
    async with connect(identity) as link:
        await link.hello(identity, "e")
        await link.until(Offer)
        with streams.reading(task_id) as queue:
            read = aiter(streams.follow(agent.id, task_id, queue))

            async def next_piece() -> Piece:
                return await anext(read)

            async with asyncio.TaskGroup() as group:
                first = group.create_task(next_piece(), name="first piece")
                assert (await link.until(Credit)).task == task_id
                await link.send(Chunk(task=task_id, number=1, text=text, dropped=3))
                await link.send(End(task=task_id, reason="eof"))
            pieces = [first.result()] + [piece async for piece in read]
    assert "".join(piece.text for piece in pieces) == text
    assert (pieces[0].dropped, pieces[-1].ended, pieces[-1].reason) == (3, True, "eof")


async def _backdate(world: World, **columns: Any) -> None:
    async with world.service.parts.engine.begin() as connection:
        await connection.execute(tasks.update().values(columns))


async def test_no_more_is_offered_in_a_minute_than_the_agent_says(
    world: World, identity: Identity
) -> None:
    """Reads apart from writes; what is left stays queued, in order, and is not refused."""
    outbox = Outbox()
    ids = [await submit(world) for _ in range(5)]
    look = await submit(world, TaskKind.TREE)
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch, allowed={"maxPerMinute": 3})
        offered = [(await link.until(Offer)).task.id for _ in range(4)]
    assert sorted(offered) == sorted([*ids[:3], look])
    assert [await phase(world, id_) for id_ in ids[3:]] == [TaskPhase.QUEUED] * 2
