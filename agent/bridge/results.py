"""Results: what became of each task, for seven days: a task that comes again gets the same answer.

A record says first that a task was begun, then how it ended. A task of which only the beginning is
known was cut off: whoever does it again must look whether it was done.

Only tasks that change something are recorded. A read that comes again is read again, which harms
nobody; its answer, as large as a whole manifest, would fill the store that the work needs too.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from bus.jetstream.kv import Bucket
from bus.link import Task, TaskResult


class Record(msgspec.Struct, frozen=True, kw_only=True):
    began: str
    """RFC 3339; when it was begun first."""
    result: TaskResult | None = None


@dataclass(frozen=True, slots=True)
class Results:
    """Every method raises CarrierError."""

    bucket: Bucket

    async def recall(self, task: Task) -> Record | None:
        raw = await self.bucket.get(task.id) if task.kind.writes else None
        return _read(raw) if raw else None

    async def begin(self, task: Task, began: str) -> Record:
        """The first beginning counts."""
        record = Record(began=began)
        if not task.kind.writes:
            return record
        if await self.bucket.create(task.id, msgspec.json.encode(record)):
            return record
        return await self.recall(task) or record

    async def end(self, task: Task, record: Record, result: TaskResult) -> None:
        if not task.kind.writes:
            return
        ended = msgspec.structs.replace(record, result=result)
        await self.bucket.put(result.id, msgspec.json.encode(ended))


def _read(raw: bytes) -> Record | None:
    try:
        return msgspec.json.decode(raw, type=Record)
    except msgspec.MsgspecError:
        return None
