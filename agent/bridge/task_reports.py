"""TaskReports: what is told upward of tasks: that they are being done, and how they ended.

An end is told however long it takes; a sign of life that cannot be told is made up for by the next.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from agent.bridge.held import Held
from agent.bridge.recorder import Recorder
from bus.carrier import CarrierError
from bus.ids import derived_id, new_id
from bus.link import TaskProgress, TaskResult
from handlers.ports import Clock
from handlers.report.items import Stamp, progress_item, result_item
from handlers.report.redaction import Redaction

log = structlog.get_logger()

_AGAIN_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskReports:
    recorder: Recorder
    redaction: Callable[[], Redaction]
    clock: Clock

    async def end(self, result: TaskResult) -> None:
        while True:
            try:
                await self.recorder.record(result_item(result, self._stamp(f"{result.id}:end")))
            except CarrierError as error:
                log.warning("end of a task not told yet", task=result.id, reason=str(error))
                await asyncio.sleep(_AGAIN_SECONDS)
            else:
                return

    async def progress(self, held: Held) -> None:
        said = TaskProgress(id=held.task.id, message=self.redaction().text(held.message))
        try:
            await self.recorder.record(progress_item(said, self._stamp(new_id())))
        except CarrierError as error:
            log.info("progress not told", task=held.task.id, reason=str(error))

    def _stamp(self, seed: str) -> Stamp:
        return Stamp(id=derived_id(seed), time=self.clock.now().isoformat())
