"""TaskRunner: takes one task from its offer to a recorded result.

    result known? -> permitted? -> budget -> beginning recorded -> executed -> result recorded

A task that was cut off by a crash is offered again, and its executor is told that it was begun
before. The body that an executor returns is redacted here.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

import msgspec
import structlog

from agent.bridge.tasks.running_task import RunningTask
from agent.bridge.tasks.task_budget import TaskBudget
from agent.bridge.tasks.task_context import ERRORS, Executor, TaskContext, TaskFailedError, failed
from agent.bridge.tasks.task_results import TaskRecord, TaskResults
from agent.bridge.tasks.task_traces import parent_of, task_span
from agent.bridge.transport.link import ServiceClock
from bus.carrier import CarrierError
from bus.link import LinkTask, TaskKind, TaskPhase, TaskPriority, TaskResult
from bus.spans import Spans
from bus.trace import Trace
from handlers.control_plane.policy import ControlPlanePolicy
from handlers.ports import Clock
from handlers.report.items import LARGEST
from handlers.report.redaction import Redaction

log = structlog.get_logger()

_AGAIN_SECONDS = 1.0

Progress = Callable[[str], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRunner:
    executors: Mapping[TaskKind, Executor]
    results: TaskResults
    redaction: Callable[[], Redaction]
    policy: Callable[[], ControlPlanePolicy]
    namespaces: Callable[[LinkTask], tuple[str, ...]]
    """The namespaces that a task may touch; an empty name is the whole cluster."""
    clock: Clock
    service_clock: ServiceClock
    spans: Spans = field(default_factory=Spans)
    reads: TaskBudget = field(init=False)
    writes: TaskBudget = field(init=False)

    def __post_init__(self) -> None:
        budgets = {
            "reads": TaskBudget(limit=lambda: self.policy().max_reads_per_minute),
            "writes": TaskBudget(limit=lambda: self.policy().max_per_minute),
        }
        for name, budget in budgets.items():
            object.__setattr__(self, name, budget)

    async def __call__(self, running_task: RunningTask, progress: Progress) -> TaskResult:
        """Run the task to its result; a task that has ended before is not run again."""
        task, began = running_task.task, time.time()
        trace = self.spans.sampler.span(parent_of(task))
        result = await self._result(running_task, progress, trace)
        self.spans.record(task_span(task, result, trace, (began, time.time())))
        return result

    async def _result(
        self, running_task: RunningTask, progress: Progress, trace: Trace
    ) -> TaskResult:
        task = running_task.task
        before = await self._recall(task)
        if before is not None and before.result is not None:
            return before.result
        refused = self._refusal(running_task, again=before is not None)
        if refused is None and before is None:
            await self._wait_for_budget(running_task)
            refused = self._refusal(running_task, again=False)
        if refused is not None:
            return await self.ended(task, *refused)
        record = await self.results.begin(task, self.clock.now().isoformat())
        log.info("task begun", task=task.id, kind=task.kind, subject=task.subject, actor=task.actor)
        context = TaskContext(
            began=record.began,
            repeated=before is not None,
            cancellation=running_task.cancellation,
            progress=progress,
            stream=running_task.stream,
            input=running_task.input,
            trace=trace,
        )
        result = await self._executed(running_task, context)
        await self._keep(task, record, result)
        log.info("task ended", task=task.id, phase=result.phase, code=result.code)
        return result

    async def ended(self, task: LinkTask, phase: TaskPhase, code: str, message: str) -> TaskResult:
        """Record a result for a task that did not run to its end."""
        result = TaskResult(id=task.id, phase=phase, code=code, message=message)
        try:
            record = await self.results.begin(task, self.clock.now().isoformat())
            await self.results.end(task, record, result)
        except CarrierError as error:
            log.warning("end of a task not recorded", task=result.id, reason=str(error))
        return result

    def _refusal(
        self, running_task: RunningTask, *, again: bool
    ) -> tuple[TaskPhase, str, str] | None:
        task = running_task.task
        if running_task.cancellation.requested:
            return TaskPhase.CANCELLED, "cancelled", "cancelled before it was begun"
        if not again and _is_expired(task.not_after, self.service_clock.now()):
            return TaskPhase.EXPIRED, "expired", f"not begun before {task.not_after}"
        reason = self.policy().refusal(task.kind, self.namespaces(task))
        return (TaskPhase.FAILED, "not_allowed", reason) if reason else None

    async def _wait_for_budget(self, running_task: RunningTask) -> None:
        """Wait for the budget; the next progress report says so."""
        kind = running_task.task.kind
        budget = self.writes if kind.counts_as_write else self.reads
        running_task.message = f"waits: at most {budget.limit()} such tasks may begin in a minute"
        await budget.acquire(tuple(TaskPriority).index(running_task.task.priority))
        running_task.message = ""

    async def _executed(self, running_task: RunningTask, context: TaskContext) -> TaskResult:
        task = running_task.task
        executor = self.executors.get(task.kind)
        try:
            if executor is None:
                text = f"this version cannot do tasks of kind {task.kind}"
                raise TaskFailedError("unsupported", text)
            return self._succeeded(task, await executor(task, context))
        except ERRORS as error:
            return self._failed(task, failed(error))

    def _succeeded(self, task: LinkTask, body: object) -> TaskResult:
        shown = self.redaction().value(msgspec.to_builtins(body))
        size = len(msgspec.json.encode(shown))
        if size > LARGEST:
            text = f"the answer has {size} bytes, at most {LARGEST}: ask for less of it"
            return TaskResult(id=task.id, phase=TaskPhase.FAILED, code="failed", message=text)
        return TaskResult(id=task.id, phase=TaskPhase.SUCCEEDED, code="ok", body=shown)

    def _failed(self, task: LinkTask, error: TaskFailedError) -> TaskResult:
        redaction = self.redaction()
        return TaskResult(
            id=task.id,
            phase=error.phase,
            code=error.code,
            message=redaction.text(str(error))[:2000],
            body=redaction.value(msgspec.to_builtins(error.body)),
        )

    async def _keep(self, task: LinkTask, record: TaskRecord, result: TaskResult) -> None:
        """Record the result however long it takes: without it the task would be repeated."""
        while True:
            try:
                return await self.results.end(task, record, result)
            except CarrierError as error:
                log.warning("end of a task not recorded yet", task=result.id, reason=str(error))
                await asyncio.sleep(_AGAIN_SECONDS)

    async def _recall(self, task: LinkTask) -> TaskRecord | None:
        """Read the record however long it takes: without it a task could run twice."""
        while True:
            try:
                return await self.results.recall(task)
            except CarrierError as error:
                log.warning("results cannot be read yet", reason=str(error))
                await asyncio.sleep(_AGAIN_SECONDS)


def _is_expired(not_after: str, now: float) -> bool:
    """Judged by the service's clock; a timestamp without a time zone counts as expired."""
    if not not_after:
        return False
    try:
        end = datetime.fromisoformat(not_after)
    except ValueError:
        return True
    return end.tzinfo is None or end.timestamp() < now
