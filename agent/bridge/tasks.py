"""Tasks: what the service wants done here, each once, each with an end that is known.

    offer -> known already? -> allowed? -> begun (recorded) -> done -> ended (recorded) -> outbox

Each class has workers of its own, so that logs and diffs cannot starve a rollback. A worker owns
the task it does: whatever that raises ends this task and no other. A task that was cut off by a
crash is offered again, and its executor is told that it was begun before.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

import msgspec
import structlog

from agent.bridge.allow import Limits, Rate
from agent.bridge.doing import Doing, Executor, TaskFailedError
from agent.bridge.failures import ERRORS, failed
from agent.bridge.link import Link, LinkLostError
from agent.bridge.recorder import Recorder
from agent.bridge.results import Record, Results
from agent.bridge.streams import TaskStream
from bus.carrier import CarrierError
from bus.ids import derived_id, new_id
from bus.link import Task, TaskClass, TaskKind, TaskPhase, TaskProgress, TaskResult
from handlers.ports import Clock
from handlers.report.items import LARGEST, Stamp, progress_item, result_item
from handlers.report.redaction import Redaction

log = structlog.get_logger()

_WORKERS = {TaskClass.INTERACTIVE: 8, TaskClass.CONTROL: 32, TaskClass.BULK: 16}
_STREAMS = "streams"
_STREAM_WORKERS = 16
_QUEUED = 2000
_LONGEST_ID = 100
_ENDS_ITSELF = frozenset({TaskKind.SYNC, TaskKind.ROLLBACK})
"""What they began goes on in the cluster: they terminate it and wait for that."""
_SIGN_OF_LIFE = 8.0
"""Seconds between two signs that a task is still being done: its lease is 30."""
_AGAIN_SECONDS = 1.0


@dataclass(slots=True)
class _Held:
    """A task that was taken and has not ended."""

    task: Task
    stream: TaskStream
    work: asyncio.Task[TaskResult] | None = None
    cancelled: bool = False
    message: str = ""


@dataclass(slots=True, kw_only=True)
class TaskDesk:
    """`offer` never blocks; `run` does the work."""

    executors: Mapping[TaskKind, Executor]
    results: Results
    recorder: Recorder
    redaction: Callable[[], Redaction]
    limits: Callable[[], Limits]
    reach: Callable[[Task], tuple[str, ...]]
    """The namespaces that a task may touch."""
    clock: Clock
    rate: Rate = field(default_factory=Rate)
    _link: Link | None = None
    _held: dict[str, _Held] = field(default_factory=dict)
    _queues: dict[str, asyncio.Queue[str]] = field(init=False)

    def __post_init__(self) -> None:
        names = (*map(str, TaskClass), _STREAMS)
        self._queues = {name: asyncio.Queue(_QUEUED) for name in names}

    @property
    def running(self) -> tuple[str, ...]:
        return tuple(self._held)

    def offer(self, task: Task) -> None:
        """One that is here already is not taken twice."""
        if task.id in self._held:
            return
        if not 0 < len(task.id) <= _LONGEST_ID:
            log.warning("task not taken: its id is no id")
            return
        queue = self._queues[_STREAMS if task.kind is TaskKind.LOGS else str(task.clazz)]
        if queue.full():
            log.warning("task not taken: too many wait", task=task.id, kind=task.kind)
            return  # its lease ends, and it is offered again
        self._held[task.id] = _Held(task, TaskStream(task.id, self._link))
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
                workers = _STREAM_WORKERS if name == _STREAMS else _WORKERS[TaskClass(name)]
                for number in range(workers):
                    tasks.create_task(self._work(queue), name=f"task-{name}-{number}")

    async def _work(self, queue: asyncio.Queue[str]) -> None:
        while True:
            held = self._held[await queue.get()]
            try:
                result = await self._supervised(held)
                await self._tell(result)
                await self._end_stream(held, result)
            finally:
                del self._held[held.task.id]

    async def _end_stream(self, held: _Held, result: TaskResult) -> None:
        if held.task.kind is not TaskKind.LOGS:
            return
        with contextlib.suppress(LinkLostError):
            await held.stream.end(result.message or result.phase)

    async def _supervised(self, held: _Held) -> TaskResult:
        """Do it in a task of its own, with signs of life, however it ends."""
        loop = asyncio.get_running_loop()
        work = held.work = loop.create_task(self._do(held), name=f"task {held.task.id}")
        try:
            while not (await asyncio.wait({work}, timeout=_SIGN_OF_LIFE))[0]:
                await self._sign_of_life(held)
        finally:
            work.cancel()
            await asyncio.wait({work})
        if work.cancelled():
            return await self._ended(held, TaskPhase.CANCELLED, "cancelled", "cancelled as asked")
        error = work.exception()
        if error is None:
            return work.result()
        if isinstance(error, CarrierError):
            return await self._ended(held, TaskPhase.FAILED, "failed", str(error))
        log.error("task failed by a bug", task=held.task.id, kind=held.task.kind, exc_info=error)
        return await self._ended(held, TaskPhase.FAILED, "failed", f"bug: {type(error).__name__}")

    async def _do(self, held: _Held) -> TaskResult:
        task = held.task
        before = await self._recall(task.id)
        if before is not None and before.result is not None:
            return before.result
        refused = self._refusal(held, again=before is not None)
        if refused is not None:
            return await self._ended(held, *refused)
        record = await self.results.begin(task.id, self.clock.now().isoformat())
        log.info("task begun", task=task.id, kind=task.kind, about=task.subject, actor=task.actor)
        result = await self._executed(held, record, repeated=before is not None)
        await self._keep(record, result)
        log.info("task ended", task=task.id, phase=result.phase, code=result.code)
        return result

    def _refusal(self, held: _Held, *, again: bool) -> tuple[TaskPhase, str, str] | None:
        task, limits = held.task, self.limits()
        if held.cancelled:
            return TaskPhase.CANCELLED, "cancelled", "cancelled before it was begun"
        if not again and _is_over(task.not_after, self.clock.now()):
            return TaskPhase.EXPIRED, "expired", f"not begun before {task.not_after}"
        reason = limits.refusal(task.kind, self.reach(task))
        if reason:
            return TaskPhase.FAILED, "not_allowed", reason
        if not again and not self.rate.admits(limits.max_per_minute, time.monotonic()):
            text = f"more than {limits.max_per_minute} tasks in a minute are not allowed here"
            return TaskPhase.FAILED, "not_allowed", text
        return None

    async def _executed(self, held: _Held, record: Record, *, repeated: bool) -> TaskResult:
        task = held.task
        executor = self.executors.get(task.kind)
        try:
            if executor is None:
                text = f"this version does no tasks of kind {task.kind}"
                raise TaskFailedError("unsupported", text)
            doing = Doing(
                began=record.began,
                repeated=repeated,
                cancelled=lambda: held.cancelled,
                progress=lambda message: self._progress(held, message),
                stream=held.stream,
            )
            return self._succeeded(task, await executor(task, doing))
        except ERRORS as error:
            return self._failed(task, failed(error))

    def _succeeded(self, task: Task, body: object) -> TaskResult:
        shown = self.redaction().value(msgspec.to_builtins(body))
        size = len(msgspec.json.encode(shown))
        if size > LARGEST:
            text = f"the answer has {size} bytes, at most {LARGEST}: ask for less of it"
            return TaskResult(id=task.id, phase=TaskPhase.FAILED, code="failed", message=text)
        return TaskResult(id=task.id, phase=TaskPhase.SUCCEEDED, code="ok", body=shown)

    def _failed(self, task: Task, error: TaskFailedError) -> TaskResult:
        redaction = self.redaction()
        return TaskResult(
            id=task.id,
            phase=error.phase,
            code=error.code,
            message=redaction.text(str(error))[:2000],
            body=redaction.value(msgspec.to_builtins(error.body)),
        )

    async def _ended(self, held: _Held, phase: TaskPhase, code: str, message: str) -> TaskResult:
        """Without having been done, or not to its end."""
        result = TaskResult(id=held.task.id, phase=phase, code=code, message=message)
        try:
            record = await self.results.begin(result.id, self.clock.now().isoformat())
            await self.results.end(record, result)
        except CarrierError as error:
            log.warning("end of a task not recorded", task=result.id, reason=str(error))
        return result

    async def _keep(self, record: Record, result: TaskResult) -> None:
        """It was done: an end that is not recorded would have it looked at once more."""
        while True:
            try:
                return await self.results.end(record, result)
            except CarrierError as error:
                log.warning("end of a task not recorded yet", task=result.id, reason=str(error))
                await asyncio.sleep(_AGAIN_SECONDS)

    async def _recall(self, task_id: str) -> Record | None:
        """However long it takes: without it nobody knows whether it was done."""
        while True:
            try:
                return await self.results.recall(task_id)
            except CarrierError as error:
                log.warning("results cannot be read yet", reason=str(error))
                await asyncio.sleep(_AGAIN_SECONDS)

    async def _tell(self, result: TaskResult) -> None:
        while True:
            try:
                await self.recorder.record(result_item(result, self._stamp(f"{result.id}:end")))
            except CarrierError as error:
                log.warning("end of a task not told yet", task=result.id, reason=str(error))
                await asyncio.sleep(_AGAIN_SECONDS)
            else:
                return

    async def _progress(self, held: _Held, message: str) -> None:
        held.message = message
        await self._sign_of_life(held)

    async def _sign_of_life(self, held: _Held) -> None:
        if self._link is None:
            return
        said = TaskProgress(id=held.task.id, message=self.redaction().text(held.message))
        try:
            await self.recorder.record(progress_item(said, self._stamp(new_id())))
        except CarrierError as error:
            log.info("progress not told", task=held.task.id, reason=str(error))

    def _stamp(self, seed: str) -> Stamp:
        return Stamp(id=derived_id(seed), time=self.clock.now().isoformat())


def _is_over(not_after: str, now: datetime) -> bool:
    try:
        return bool(not_after) and datetime.fromisoformat(not_after) < now
    except (ValueError, TypeError):
        return True
