"""Tasks: what the service wants done here, each once, each with an end that is known.

    offer -> a queue for each class, reads apart from writes -> fulfilment -> outbox

Each queue has workers of its own, so that logs and diffs cannot starve a rollback, and writes that
wait for their turn hold up no read. A worker owns the task it does: whatever that raises ends this
task and no other.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field

import structlog

from agent.bridge.fulfilment import Fulfilment
from agent.bridge.held import Held
from agent.bridge.link import Link, LinkLostError
from agent.bridge.streams import TaskStream
from agent.bridge.task_reports import TaskReports
from bus.carrier import CarrierError
from bus.link import Task, TaskClass, TaskKind, TaskPhase, TaskResult

log = structlog.get_logger()

_WORKERS = {TaskClass.INTERACTIVE: 8, TaskClass.CONTROL: 32, TaskClass.BULK: 16}
_STREAMS = "streams"
_STREAM_WORKERS = 16
_QUEUES = {
    **{f"{clazz}-{way}": many for clazz, many in _WORKERS.items() for way in ("reads", "writes")},
    _STREAMS: _STREAM_WORKERS,
}
"""The queues by name, with their workers."""
_QUEUED = 2000
_LONGEST_ID = 100
_ENDS_ITSELF = frozenset({TaskKind.SYNC, TaskKind.ROLLBACK})
"""What they began goes on in the cluster: they terminate it and wait for that."""
_SIGN_OF_LIFE = 8.0
"""Seconds between two signs that a task is still being done: its lease is 30."""


@dataclass(slots=True, kw_only=True)
class TaskDesk:
    """`offer` never blocks; `run` does the work."""

    fulfilment: Fulfilment
    reports: TaskReports
    _link: Link | None = None
    _held: dict[str, Held] = field(default_factory=dict)
    _queues: dict[str, asyncio.Queue[str]] = field(init=False)

    def __post_init__(self) -> None:
        self._queues = {name: asyncio.Queue(_QUEUED) for name in _QUEUES}

    @property
    def running(self) -> tuple[str, ...]:
        return tuple(self._held)

    @property
    def kinds(self) -> tuple[TaskKind, ...]:
        """What can be done here."""
        return tuple(self.fulfilment.executors)

    def offer(self, task: Task) -> None:
        """One that is here already is not taken twice."""
        if task.id in self._held:
            return
        if not 0 < len(task.id) <= _LONGEST_ID:
            log.warning("task not taken: its id is no id")
            return
        queue = self._queues[_queue_of(task)]
        if queue.full():
            log.warning("task not taken: too many wait", task=task.id, kind=task.kind)
            return  # its lease ends, and it is offered again
        self._held[task.id] = Held(task, TaskStream(task.id, self._link))
        queue.put_nowait(task.id)

    def cancel(self, task_id: str) -> None:
        held = self._held.get(task_id)
        if held is None:
            return
        held.cancelled = True
        if held.work is not None and held.task.kind not in _ENDS_ITSELF:
            held.work.cancel()

    def credit(self, task_id: str, chunks: int) -> None:
        held = self._held.get(task_id)
        if held is not None:
            held.stream.grant(chunks)

    def connected(self, link: Link | None) -> None:
        """Streams that are under way end with the link that they went over."""
        self._link = link
        for held in self._held.values():
            held.stream.cut()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for name, queue in self._queues.items():
                for number in range(_QUEUES[name]):
                    tasks.create_task(self._work(queue), name=f"task-{name}-{number}")

    async def _work(self, queue: asyncio.Queue[str]) -> None:
        while True:
            held = self._held[await queue.get()]
            try:
                result = await self._supervised(held)
                await self.reports.end(result)
                await self._end_stream(held, result)
            finally:
                del self._held[held.task.id]

    async def _end_stream(self, held: Held, result: TaskResult) -> None:
        if not held.task.kind.streams:
            return
        with contextlib.suppress(LinkLostError):
            await held.stream.end(result.message or result.phase)

    async def _supervised(self, held: Held) -> TaskResult:
        """Do it in a task of its own, with signs of life, however it ends."""
        loop = asyncio.get_running_loop()
        work = held.work = loop.create_task(self._done(held), name=f"task {held.task.id}")
        try:
            while not (await asyncio.wait({work}, timeout=_SIGN_OF_LIFE))[0]:
                await self._sign_of_life(held)
        finally:
            work.cancel()
            await asyncio.wait({work})
        if not work.cancelled() and work.exception() is None:
            return work.result()
        return await self.fulfilment.ended(held.task, *_broken(held.task, work))

    async def _done(self, held: Held) -> TaskResult:
        async def progress(message: str) -> None:
            held.message = message
            await self._sign_of_life(held)

        return await self.fulfilment(held, progress)

    async def _sign_of_life(self, held: Held) -> None:
        if self._link is not None:
            await self.reports.progress(held)


def _queue_of(task: Task) -> str:
    if task.kind.streams:
        return _STREAMS
    return f"{task.clazz}-{'writes' if task.kind.writes else 'reads'}"


def _broken(task: Task, work: asyncio.Task[TaskResult]) -> tuple[TaskPhase, str, str]:
    """How it ended that ended without a result of its own."""
    if work.cancelled():
        return TaskPhase.CANCELLED, "cancelled", "cancelled as asked"
    error = work.exception()
    if isinstance(error, CarrierError):
        return TaskPhase.FAILED, "failed", str(error)
    log.error("task failed by a bug", task=task.id, kind=task.kind, exc_info=error)
    return TaskPhase.FAILED, "failed", f"bug: {type(error).__name__}"
