"""TaskQueue: does each task of the service once, and reports its end.

    offer -> one queue for each priority, reads apart from writes -> TaskRunner -> outbox

Each queue has its own workers, so that logs and diffs cannot starve a rollback, and writes that
wait for their budget delay no read. A worker owns its task: an exception ends that task only.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from dataclasses import dataclass, field

import msgspec
import structlog

from agent.bridge.tasks.running_task import RunningTask, TaskStream
from agent.bridge.tasks.task_results import TaskReports
from agent.bridge.tasks.task_runner import TaskRunner
from agent.bridge.transport.link import AgentLink, LinkLostError
from bus.carrier import CarrierError
from bus.link import LinkTask, TaskKind, TaskPhase, TaskPriority, TaskResult, TerminalInput

log = structlog.get_logger()

_WORKERS = {TaskPriority.INTERACTIVE: 8, TaskPriority.CONTROL: 32, TaskPriority.BULK: 16}
_STREAMS = "streams"
_STREAM_WORKERS = 16
_QUEUES = {
    **{
        f"{priority}-{way}": many
        for priority, many in _WORKERS.items()
        for way in ("reads", "writes")
    },
    _STREAMS: _STREAM_WORKERS,
}
"""The queues by name, with their workers."""
_MOST_QUEUED = 2000
_ID = re.compile(r"[0-9A-Za-z_-]{1,100}")
"""An id becomes a key of a bucket, where dots and wildcards mean something."""
_MOST_BYTES = 32 * 1024 * 1024
"""Of all accepted tasks together: the service decides how large each of them is."""
_PROGRESS_SECONDS = 8.0
"""Between two progress reports; the service's lease on a task is 30 seconds."""


@dataclass(slots=True, kw_only=True)
class TaskQueue:
    """`offer` never blocks; `run` does the work."""

    runner: TaskRunner
    reports: TaskReports
    _link: AgentLink | None = None
    _running: dict[str, RunningTask] = field(default_factory=dict)
    _bytes: int = 0
    """Size of the accepted tasks."""
    _queues: dict[str, asyncio.Queue[str]] = field(init=False)

    def __post_init__(self) -> None:
        self._queues = {name: asyncio.Queue(_MOST_QUEUED) for name in _QUEUES}

    @property
    def running(self) -> tuple[str, ...]:
        return tuple(self._running)

    @property
    def kinds(self) -> tuple[TaskKind, ...]:
        """The kinds of tasks that this version can do."""
        return tuple(self.runner.executors)

    def offer(self, task: LinkTask) -> None:
        """Accept the task, unless it is accepted already or there is no room for it."""
        if task.id in self._running:
            return
        if not _ID.fullmatch(task.id):
            log.warning("task not accepted: expected an id of 1 to 100 letters, digits, _ and -")
            return
        if task.kind is TaskKind.EXEC and self.shells() >= _STREAM_WORKERS:
            log.warning("task not accepted: too many shells wait", task=task.id)
            return
        queue, size = self._queues[_queue_of(task)], len(msgspec.json.encode(task))
        if queue.full() or self._bytes + size > _MOST_BYTES:
            log.warning("task not accepted: too many wait", task=task.id, kind=task.kind)
            return  # the service offers the task again when its lease ends
        self._bytes += size
        self._running[task.id] = RunningTask(task, TaskStream(task.id, self._link), size)
        queue.put_nowait(task.id)

    def cancel(self, task_id: str) -> None:
        running_task = self._running.get(task_id)
        if running_task is None:
            return
        running_task.cancellation.request()
        if running_task.work is not None and not running_task.task.kind.row.ends_itself:
            running_task.work.cancel()

    def credit(self, task_id: str, chunks: int) -> None:
        running_task = self._running.get(task_id)
        if running_task is not None:
            running_task.stream.grant(chunks)

    def input(self, frame: TerminalInput) -> None:
        running_task = self._running.get(frame.task)
        if running_task is not None and running_task.task.kind is TaskKind.EXEC:
            running_task.input.put(frame)

    def shells(self) -> int:
        """Count the tasks that take input, which is no part of their size."""
        return sum(one.task.kind is TaskKind.EXEC for one in self._running.values())

    def connected(self, link: AgentLink | None) -> None:
        """Use `link` for new streams, and end the streams of the previous link."""
        self._link = link
        for running_task in self._running.values():
            running_task.stream.cut()
            running_task.input.end("the link to the service was lost")

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for name, queue in self._queues.items():
                for number in range(_QUEUES[name]):
                    tasks.create_task(self._work(queue), name=f"task-{name}-{number}")

    async def _work(self, queue: asyncio.Queue[str]) -> None:
        while True:
            running_task = self._running[await queue.get()]
            try:
                result = await self._run_supervised(running_task)
                await self.reports.end(result)
                await self._end_stream(running_task, result)
            finally:
                self._bytes -= running_task.size
                del self._running[running_task.task.id]

    async def _end_stream(self, running_task: RunningTask, result: TaskResult) -> None:
        if not running_task.task.kind.row.streams:
            return
        with contextlib.suppress(LinkLostError):
            await running_task.stream.end(result.message or result.phase)

    async def _run_supervised(self, running_task: RunningTask) -> TaskResult:
        """Run the task in an asyncio task of its own, and report progress until it ends."""
        loop = asyncio.get_running_loop()
        work = running_task.work = loop.create_task(
            self._run(running_task), name=f"task {running_task.task.id}"
        )
        try:
            while not (await asyncio.wait({work}, timeout=_PROGRESS_SECONDS))[0]:
                await self._report_progress(running_task)
        finally:
            work.cancel()
            await asyncio.wait({work})
        if not work.cancelled() and work.exception() is None:
            return work.result()
        return await self.runner.ended(running_task.task, *_failure_of(running_task.task, work))

    async def _run(self, running_task: RunningTask) -> TaskResult:
        async def progress(message: str) -> None:
            running_task.message = message
            await self._report_progress(running_task)

        return await self.runner(running_task, progress)

    async def _report_progress(self, running_task: RunningTask) -> None:
        if self._link is not None:
            await self.reports.progress(running_task)


def _queue_of(task: LinkTask) -> str:
    if task.kind.row.streams:
        return _STREAMS
    return f"{task.priority}-{'writes' if task.kind.counts_as_write else 'reads'}"


def _failure_of(task: LinkTask, work: asyncio.Task[TaskResult]) -> tuple[TaskPhase, str, str]:
    """Phase, code and message of a task that ended without a result."""
    if work.cancelled():
        return TaskPhase.CANCELLED, "cancelled", "cancelled as asked"
    error = work.exception()
    if isinstance(error, CarrierError):
        return TaskPhase.FAILED, "failed", str(error)
    log.error("task failed by a bug", task=task.id, kind=task.kind, exc_info=error)
    return TaskPhase.FAILED, "failed", f"bug: {type(error).__name__}"
