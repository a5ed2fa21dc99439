"""Results: what became of each task, for seven days: a task that comes again gets the same answer.

A record says first that a task was begun, then how it ended. A task of which only the beginning is
known was cut off: whoever does it again must look whether it was done.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from bus.jetstream.kv import Bucket
from bus.link import TaskResult


class Record(msgspec.Struct, frozen=True, kw_only=True):
    began: str
    """RFC 3339; when it was begun first."""
    result: TaskResult | None = None


@dataclass(frozen=True, slots=True)
class Results:
    """Every method raises CarrierError."""

    bucket: Bucket

    async def recall(self, task_id: str) -> Record | None:
        raw = await self.bucket.get(task_id)
        return _read(raw) if raw else None

    async def begin(self, task_id: str, began: str) -> Record:
        """The first beginning counts."""
        record = Record(began=began)
        if await self.bucket.create(task_id, msgspec.json.encode(record)):
            return record
        return await self.recall(task_id) or record

    async def end(self, record: Record, result: TaskResult) -> None:
        ended = msgspec.structs.replace(record, result=result)
        await self.bucket.put(result.id, msgspec.json.encode(ended))


def _read(raw: bytes) -> Record | None:
    try:
        return msgspec.json.decode(raw, type=Record)
    except msgspec.MsgspecError:
        return None
