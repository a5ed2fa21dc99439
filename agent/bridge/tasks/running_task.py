"""RunningTask: a task that the queue has accepted and that has not ended, with its stream of text.

Text that comes faster than the credit is not buffered here: executors leave out whole lines and
count them, and each chunk says how many lines were dropped before it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from agent.bridge.tasks.task_context import Cancellation
from agent.bridge.tasks.task_input import TaskInput
from agent.bridge.transport.link import AgentLink, LinkLostError
from bus.link import Chunk, End, LinkTask, TaskResult

CHUNK_BYTES = 16 * 1024
_PATIENCE_SECONDS = 60.0
_MOST_CREDIT = 256


@dataclass(slots=True)
class TaskStream:
    """The stream of one task over one link."""

    task: str
    link: AgentLink | None
    _credit: int = 0
    _number: int = 0
    _more: asyncio.Event = field(default_factory=asyncio.Event)

    def grant(self, chunks: int) -> None:
        self._credit = min(_MOST_CREDIT, self._credit + max(0, chunks))
        self._more.set()

    def cut(self) -> None:
        """End the stream: its link is gone."""
        self.link = None
        self._more.set()

    @property
    def has_credit(self) -> bool:
        return self._credit > 0

    async def send(self, text: str, dropped: int = 0) -> None:
        for part in chunked(text):
            await self._wait_for_credit()
            if self.link is None:
                raise LinkLostError("the link of this stream is gone")
            self._credit -= 1
            chunk = Chunk(task=self.task, number=self._number, text=part, dropped=dropped)
            self._number, dropped = self._number + 1, 0
            await self.link.send(chunk)

    async def end(self, reason: str) -> None:
        if self.link is not None:
            await self.link.send(End(task=self.task, reason=reason))

    async def _wait_for_credit(self) -> None:
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                while self.link is not None and not self._credit:
                    self._more.clear()
                    await self._more.wait()
        except TimeoutError as error:
            raise LinkLostError("the reader granted no credit for a minute") from error


def chunked(text: str) -> list[str]:
    """Split text into parts of at most 16 KiB, between characters."""
    raw = text.encode(errors="replace")
    if len(raw) <= CHUNK_BYTES:
        return [text]
    parts, begin = [], 0
    while begin < len(raw):
        end = min(begin + CHUNK_BYTES, len(raw))
        while end < len(raw) and raw[end] & 0xC0 == 0x80:
            end -= 1
        parts.append(raw[begin:end].decode(errors="replace"))
        begin = end
    return parts


@dataclass(slots=True)
class RunningTask:
    task: LinkTask
    stream: TaskStream
    size: int
    """Bytes of the task as it was offered."""
    work: asyncio.Task[TaskResult] | None = None
    cancellation: Cancellation = field(default_factory=Cancellation)
    input: TaskInput = field(default_factory=TaskInput)
    message: str = ""
    """The progress of the task, in words."""
