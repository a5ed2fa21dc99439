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
    LogsArguments,
    Offer,
    SyncArguments,
    TaskArguments,
    TaskPhase,
    TaskPriority,
    TaskProgress,
    TaskResult,
    TreeArguments,
)
from service.gateway.agent_status import LOST_AFTER
from service.gateway.task_ends import sweep
from service.gateway.task_offers import AT_ONCE
from service.gateway.task_store import QueuedTask
from service.gateway.task_streams import StreamPiece, TaskStreams
from service.lifecycle import now
from service.store.tables import agents, tasks
from tests.service.fake_agent import AgentConnection, AgentIdentity, FakeOutbox, connect
from tests.service.service_fixture import RunningService, open_service, settings

_SYNC = SyncArguments()


@pytest.fixture
async def second(
    database_url: str, running_service: RunningService
) -> AsyncIterator[RunningService]:
    async with open_service(settings(database_url)) as service:
        yield RunningService(service)


@pytest.fixture
async def identity(running_service: RunningService) -> AgentIdentity:
    return await running_service.enrolled()


async def submit(
    running_service: RunningService, arguments: TaskArguments = _SYNC, **more: Any
) -> str:
    (agent,) = await running_service.rows(agents)
    new = QueuedTask(
        account_id=agent.account_id,
        agent_id=agent.id,
        arguments=arguments,
        subject="argocd/shop",
        actor="ann",
        **more,
    )
    dependencies = running_service.service.dependencies
    async with dependencies.engine.begin() as connection:
        return await dependencies.tasks.submit(connection, new)


async def answer(
    link: AgentConnection, outbox: FakeOutbox, task_id: str, body: object = None
) -> None:
    result = TaskResult(id=task_id, phase=TaskPhase.SUCCEEDED, code="ok", body=body)
    await link.put([outbox.task("result.v1", result)])


async def phase(running_service: RunningService, task_id: str) -> str:
    return str(next(row.phase for row in await running_service.rows(tasks) if row.id == task_id))


async def test_a_task_is_offered_answered_and_waited_for(
    running_service: RunningService, second: RunningService, identity: AgentIdentity
) -> None:
    outbox = FakeOutbox()
    async with connect(identity) as link, asyncio.TaskGroup() as group:
        await link.hello(identity, outbox.epoch)
        task_id = await submit(
            second, arguments=SyncArguments(revision="abc"), precondition={"uid": "u"}
        )
        waiting = group.create_task(
            second.service.dependencies.tasks.result(task_id, 120), name="wait"
        )
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


async def test_a_task_waits_for_its_agent(
    running_service: RunningService, identity: AgentIdentity
) -> None:
    task_id = await submit(running_service)
    async with connect(identity) as link:
        await link.hello(identity, "e")
        assert (await link.until(Offer)).task.id == task_id


async def test_what_was_offered_is_offered_again_after_a_reconnect(
    running_service: RunningService, identity: AgentIdentity
) -> None:
    task_id, outbox = await submit(running_service), FakeOutbox()
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        await link.until(Offer)
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        assert (await link.until(Offer)).task.id == task_id
        await answer(link, outbox, task_id)
    (row,) = await running_service.rows(tasks)
    assert (row.phase, row.attempts) == ("succeeded", 2)


async def test_what_runs_there_is_not_offered_again(
    running_service: RunningService, identity: AgentIdentity
) -> None:
    running = await submit(running_service)
    async with connect(identity) as link:
        await link.hello(identity, "e")
        await link.until(Offer)
    waiting = await submit(running_service)
    async with connect(identity) as link:
        await link.hello(identity, "e", running=(running,))
        assert (await link.until(Offer)).task.id == waiting
    assert await phase(running_service, running) == "running"


async def test_a_lost_lease_is_offered_again_and_progress_keeps_it(
    running_service: RunningService, identity: AgentIdentity
) -> None:
    lost, outbox = await submit(running_service), FakeOutbox()
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        await link.until(Offer)
        await _backdate(running_service, lease_until=now() - timedelta(seconds=1))
        assert (await link.until(Offer)).task.id == lost
        await _backdate(running_service, lease_until=now() - timedelta(seconds=1))
        progress = TaskProgress(id=lost, message="half way", done=1, total=2)
        await link.put([outbox.task("progress.v1", progress)])
    (row,) = await running_service.rows(tasks)
    assert (row.phase, row.progress["message"]) == ("running", "half way")
    assert row.lease_until > now()


async def test_a_repeated_result_changes_nothing(
    running_service: RunningService, identity: AgentIdentity
) -> None:
    task_id, outbox = await submit(running_service), FakeOutbox()
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        await link.until(Offer)
        await answer(link, outbox, task_id, "first")
        await answer(link, outbox, task_id, "second")
    (row,) = await running_service.rows(tasks)
    assert row.result == "first"


async def test_a_class_is_limited_and_does_not_hold_up_another(
    running_service: RunningService, identity: AgentIdentity
) -> None:
    many = AT_ONCE[TaskPriority.BULK] + 3
    bulk = {await submit(running_service, priority=TaskPriority.BULK) for _ in range(many)}
    urgent = await submit(running_service, priority=TaskPriority.INTERACTIVE)
    outbox = FakeOutbox()
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        offered = [(await link.until(Offer)).task.id for _ in range(AT_ONCE[TaskPriority.BULK] + 1)]
        assert offered[0] == urgent
        assert set(offered[1:]) < bulk
        await answer(link, outbox, offered[1])
        assert (await link.until(Offer)).task.id in bulk - set(offered)


async def test_a_queued_task_is_cancelled_at_once(
    running_service: RunningService, identity: AgentIdentity
) -> None:
    task_id, queue = await submit(running_service), running_service.service.dependencies.tasks
    async with running_service.service.dependencies.engine.begin() as connection:
        assert await queue.cancel(connection, task_id) is TaskPhase.CANCELLED
    ended = await queue.result(task_id, 60)
    assert ended is not None
    assert ended.phase is TaskPhase.CANCELLED


async def test_a_begun_task_is_cancelled_by_its_agent(
    running_service: RunningService, identity: AgentIdentity
) -> None:
    task_id, outbox = await submit(running_service), FakeOutbox()
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        await link.until(Offer)
        async with running_service.service.dependencies.engine.begin() as connection:
            await running_service.service.dependencies.tasks.cancel(connection, task_id)
        assert (await link.until(Cancel)).id == task_id
        done = TaskResult(id=task_id, phase=TaskPhase.CANCELLED, code="cancelled")
        await link.put([outbox.task("result.v1", done)])
    assert await phase(running_service, task_id) == "cancelled"


async def test_a_task_nobody_took_expires(
    running_service: RunningService, identity: AgentIdentity
) -> None:
    task_id = await submit(running_service, not_after=now() - timedelta(seconds=1))
    await sweep(running_service.service.dependencies.engine, now())
    assert await phase(running_service, task_id) == "expired"


async def test_a_write_whose_agent_is_lost_is_unknown_until_it_comes_back(
    running_service: RunningService, identity: AgentIdentity
) -> None:
    task_id, outbox = (
        await submit(running_service, not_after=now() + timedelta(minutes=1)),
        FakeOutbox(),
    )
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        await link.until(Offer)
    await sweep(running_service.service.dependencies.engine, now() + 2 * LOST_AFTER)
    assert await phase(running_service, task_id) == "unknown"
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        await answer(link, outbox, task_id)
    assert await phase(running_service, task_id) == "succeeded"


async def test_a_quarantined_agent_is_offered_nothing(
    running_service: RunningService, identity: AgentIdentity
) -> None:
    first = FakeOutbox()
    async with connect(identity) as link:
        await link.hello(identity, first.epoch)
    await submit(running_service)
    async with connect(identity) as link:
        assert (await link.hello(identity, "another")).quarantined
        await link.put(())
    assert (await running_service.rows(tasks))[0].phase == "queued"


async def test_an_idempotency_key_is_used_once(
    running_service: RunningService, identity: AgentIdentity
) -> None:
    await submit(running_service, principal_id="p", idempotency_key="k")
    with pytest.raises(IntegrityError):
        await submit(running_service, principal_id="p", idempotency_key="k")


async def test_an_agent_ends_only_its_own_tasks(
    running_service: RunningService, identity: AgentIdentity
) -> None:
    task_id = await submit(running_service)
    other, outbox = await running_service.enrolled("other"), FakeOutbox()
    async with connect(other) as link:
        await link.hello(other, outbox.epoch)
        await answer(link, outbox, task_id)
    assert await phase(running_service, task_id) == "queued"


async def test_a_result_that_is_too_large_is_not_kept(
    running_service: RunningService, identity: AgentIdentity
) -> None:
    task_id, outbox = await submit(running_service), FakeOutbox()
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        await answer(link, outbox, task_id, "x" * 300_000)
    (row,) = await running_service.rows(tasks)
    assert row.result is None
    assert "too large" in row.message


async def test_a_stream_is_read_on_another_replica_with_credit(
    running_service: RunningService, second: RunningService, identity: AgentIdentity
) -> None:
    dependencies = second.service.dependencies
    streams = TaskStreams(engine=dependencies.engine, signals=dependencies.signals)
    task_id, (agent,) = (
        await submit(running_service, LogsArguments()),
        await running_service.rows(agents),
    )
    text = "a line with a NUL-free umlaut ü\n" * 400
    async with connect(identity) as link:
        await link.hello(identity, "e")
        await link.until(Offer)
        with streams.reading(task_id) as queue:
            read = aiter(streams.follow(agent.id, task_id, queue))

            async def next_piece() -> StreamPiece:
                return await anext(read)

            async with asyncio.TaskGroup() as group:
                first = group.create_task(next_piece(), name="first piece")
                assert (await link.until(Credit)).task == task_id
                await link.send(Chunk(task=task_id, number=1, text=text, dropped=3))
                await link.send(End(task=task_id, reason="eof"))
            pieces = [first.result()] + [piece async for piece in read]
    assert "".join(piece.text for piece in pieces) == text
    assert (pieces[0].dropped, pieces[-1].ended, pieces[-1].reason) == (3, True, "eof")


async def _backdate(running_service: RunningService, **columns: Any) -> None:
    async with running_service.service.dependencies.engine.begin() as connection:
        await connection.execute(tasks.update().values(columns))


async def test_no_more_is_offered_in_a_minute_than_the_agent_says(
    running_service: RunningService, identity: AgentIdentity
) -> None:
    """Reads apart from writes; what is left stays queued, in order, and is not refused."""
    outbox = FakeOutbox()
    ids = [await submit(running_service) for _ in range(5)]
    look = await submit(running_service, TreeArguments())
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch, allowed={"maxPerMinute": 3})
        offered = [(await link.until(Offer)).task.id for _ in range(4)]
    assert sorted(offered) == sorted([*ids[:3], look])
    assert [await phase(running_service, id_) for id_ in ids[3:]] == [TaskPhase.QUEUED] * 2
