"""Results of tasks: kept for seven days, and reported to the service.

TaskResults says first that a task began, then how it ended, so that a repeated task gets the same
answer. A task with a record but no result was cut off; its executor is told so, because the task
may have been done. Only writes are recorded: repeating a read does no harm, and its answer may be
as large as a whole manifest.

TaskReports records results for the service however long that takes. Progress that cannot be
recorded is dropped: the next report replaces it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import msgspec
import structlog

from agent.bridge.reporting.recorder import Recorder
from agent.bridge.tasks.running_task import RunningTask
from bus.carrier import CarrierError
from bus.identity import derived_id, new_id
from bus.jetstream.key_value import KeyValueBucket
from bus.link import LinkTask, TaskProgress, TaskResult
from handlers.ports import Clock
from handlers.report.items import ItemStamp, progress_item, result_item
from handlers.report.redaction import Redaction

log = structlog.get_logger()

_AGAIN_SECONDS = 1.0


class TaskRecord(msgspec.Struct, frozen=True, kw_only=True):
    began: str
    """RFC 3339, of the first beginning."""
    result: TaskResult | None = None


@dataclass(frozen=True, slots=True)
class TaskResults:
    """Every method raises CarrierError."""

    bucket: KeyValueBucket

    async def recall(self, task: LinkTask) -> TaskRecord | None:
        raw = await self.bucket.get(task.id) if not task.kind.row.repeatable else None
        return _read(raw) if raw else None

    async def begin(self, task: LinkTask, began: str) -> TaskRecord:
        """Record the beginning; returns the existing record if there is one."""
        record = TaskRecord(began=began)
        if task.kind.row.repeatable:
            return record
        if await self.bucket.create(task.id, msgspec.json.encode(record)):
            return record
        return await self.recall(task) or record

    async def end(self, task: LinkTask, record: TaskRecord, result: TaskResult) -> None:
        if task.kind.row.repeatable:
            return
        ended = msgspec.structs.replace(record, result=result)
        await self.bucket.put(result.id, msgspec.json.encode(ended))


def _read(raw: bytes) -> TaskRecord | None:
    try:
        return msgspec.json.decode(raw, type=TaskRecord)
    except msgspec.MsgspecError:
        return None


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
                log.warning("result of a task not recorded yet", task=result.id, reason=str(error))
                await asyncio.sleep(_AGAIN_SECONDS)
            else:
                return

    async def progress(self, running_task: RunningTask) -> None:
        report = TaskProgress(
            id=running_task.task.id, message=self.redaction().text(running_task.message)
        )
        try:
            await self.recorder.record(progress_item(report, self._stamp(new_id())))
        except CarrierError as error:
            log.info(
                "progress of a task not recorded", task=running_task.task.id, reason=str(error)
            )

    def _stamp(self, seed: str) -> ItemStamp:
        return ItemStamp(id=derived_id(seed), time=self.clock.now().isoformat())
