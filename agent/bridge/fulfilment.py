"""Fulfilment: one task from its offer to a result that is recorded.

    known already? -> allowed? -> its turn? -> begun (recorded) -> done -> ended (recorded)

A task that was cut off by a crash is offered again, and its executor is told that it was begun
before. What an executor answers is redacted here, on its way out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

import msgspec
import structlog

from agent.bridge.doing import Doing, Executor, TaskFailedError
from agent.bridge.failures import ERRORS, failed
from agent.bridge.far_clock import FarClock
from agent.bridge.held import Held
from agent.bridge.results import Record, Results
from agent.bridge.task_budget import TaskBudget
from bus.carrier import CarrierError
from bus.link import Task, TaskClass, TaskKind, TaskPhase, TaskResult
from handlers.control_plane.policy import ControlPlanePolicy
from handlers.ports import Clock
from handlers.report.items import LARGEST
from handlers.report.redaction import Redaction

log = structlog.get_logger()

_AGAIN_SECONDS = 1.0

Progress = Callable[[str], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fulfilment:
    executors: Mapping[TaskKind, Executor]
    results: Results
    redaction: Callable[[], Redaction]
    policy: Callable[[], ControlPlanePolicy]
    namespaces: Callable[[Task], tuple[str, ...]]
    """The namespaces that a task may touch."""
    clock: Clock
    service_clock: FarClock
    reads: TaskBudget = field(init=False)
    writes: TaskBudget = field(init=False)

    def __post_init__(self) -> None:
        budgets = {
            "reads": TaskBudget(limit=lambda: self.policy().max_reads_per_minute),
            "writes": TaskBudget(limit=lambda: self.policy().max_per_minute),
        }
        for name, budget in budgets.items():
            object.__setattr__(self, name, budget)

    async def __call__(self, held: Held, progress: Progress) -> TaskResult:
        """To its end: done, failed or refused; one that has ended before is not done again."""
        task = held.task
        before = await self._recall(task)
        if before is not None and before.result is not None:
            return before.result
        refused = self._refusal(held, again=before is not None)
        if refused is None and before is None:
            await self._turn(held)
            refused = self._refusal(held, again=False)
        if refused is not None:
            return await self.ended(task, *refused)
        record = await self.results.begin(task, self.clock.now().isoformat())
        log.info("task begun", task=task.id, kind=task.kind, about=task.subject, actor=task.actor)
        result = await self._executed(held, self._doing(held, record, progress, before))
        await self._keep(task, record, result)
        log.info("task ended", task=task.id, phase=result.phase, code=result.code)
        return result

    async def ended(self, task: Task, phase: TaskPhase, code: str, message: str) -> TaskResult:
        """Without having been done, or not to its end."""
        result = TaskResult(id=task.id, phase=phase, code=code, message=message)
        try:
            record = await self.results.begin(task, self.clock.now().isoformat())
            await self.results.end(task, record, result)
        except CarrierError as error:
            log.warning("end of a task not recorded", task=result.id, reason=str(error))
        return result

    def _refusal(self, held: Held, *, again: bool) -> tuple[TaskPhase, str, str] | None:
        task = held.task
        if held.cancelled:
            return TaskPhase.CANCELLED, "cancelled", "cancelled before it was begun"
        if not again and _is_over(task.not_after, self.service_clock.now()):
            return TaskPhase.EXPIRED, "expired", f"not begun before {task.not_after}"
        reason = self.policy().refusal(task.kind, self.namespaces(task))
        return (TaskPhase.FAILED, "not_allowed", reason) if reason else None

    async def _turn(self, held: Held) -> None:
        """Whoever has to wait says so with the next sign of life."""
        budget = self.writes if held.task.kind.writes else self.reads
        held.message = f"waits: {budget.limit()} such tasks may begin in a minute here"
        await budget.turn(tuple(TaskClass).index(held.task.clazz))
        held.message = ""

    def _doing(
        self, held: Held, record: Record, progress: Progress, before: Record | None
    ) -> Doing:
        return Doing(
            began=record.began,
            repeated=before is not None,
            cancelled=lambda: held.cancelled,
            progress=progress,
            stream=held.stream,
        )

    async def _executed(self, held: Held, doing: Doing) -> TaskResult:
        task = held.task
        executor = self.executors.get(task.kind)
        try:
            if executor is None:
                text = f"this version does no tasks of kind {task.kind}"
                raise TaskFailedError("unsupported", text)
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

    async def _keep(self, task: Task, record: Record, result: TaskResult) -> None:
        """It was done: an end that is not recorded would have it looked at once more."""
        while True:
            try:
                return await self.results.end(task, record, result)
            except CarrierError as error:
                log.warning("end of a task not recorded yet", task=result.id, reason=str(error))
                await asyncio.sleep(_AGAIN_SECONDS)

    async def _recall(self, task: Task) -> Record | None:
        """However long it takes: without it nobody knows whether it was done."""
        while True:
            try:
                return await self.results.recall(task)
            except CarrierError as error:
                log.warning("results cannot be read yet", reason=str(error))
                await asyncio.sleep(_AGAIN_SECONDS)


def _is_over(not_after: str, now: float) -> bool:
    """By the service's clock; a moment without its zone is nobody's."""
    if not not_after:
        return False
    try:
        end = datetime.fromisoformat(not_after)
    except ValueError:
        return True
    return end.tzinfo is None or end.timestamp() < now
