"""What the bucket keeps of tasks: ends of what changed something, and no answer of a read."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from agent.bridge.tasks.task_results import TaskResults
from bus.jetstream import Bus
from bus.link import LinkTask, TaskKind, TaskPhase, TaskResult
from bus.topology import buckets
from tests.unit.bus.dispatch_fixture import settings_of

BEGAN = "2026-01-01T00:00:00+00:00"
BODY = "m" * 200_000


@pytest.fixture
async def bus(nats_url: str) -> AsyncIterator[Bus]:
    async with Bus.open(settings_of(nats_url)) as bus:
        await bus.provision()
        yield bus


def task_of(kind: TaskKind, number: int = 1) -> LinkTask:
    return LinkTask(id=f"{kind}-{number}", kind=kind, subject="argocd/web", actor="jane")


async def done(results: TaskResults, task: LinkTask) -> TaskResult:
    result = TaskResult(id=task.id, phase=TaskPhase.SUCCEEDED, code="ok", body=BODY)
    record = await results.begin(task, BEGAN)
    await results.end(task, record, result)
    return result


async def kept_bytes(bus: Bus) -> int:
    info = await bus.connection.jetstream.stream_info(f"KV_{buckets(bus.scope)[0].name}")
    return int(info.state.bytes)


@pytest.mark.parametrize("kind", [kind for kind in TaskKind if not kind.writes])
async def test_nothing_of_a_read_is_kept(bus: Bus, kind: TaskKind) -> None:
    results = TaskResults(await bus.bucket("results"))
    for number in range(40):
        await done(results, task_of(kind, number))
    assert await kept_bytes(bus) == 0
    assert await results.recall(task_of(kind)) is None


@pytest.mark.parametrize("kind", [kind for kind in TaskKind if kind.writes])
async def test_the_end_of_a_write_is_known_when_it_comes_again(bus: Bus, kind: TaskKind) -> None:
    results, task = TaskResults(await bus.bucket("results")), task_of(kind)
    ended = await done(results, task)
    again = await results.begin(task, "2027-01-01T00:00:00+00:00")
    assert (again.began, again.result) == (BEGAN, ended)
