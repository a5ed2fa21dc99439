"""Streams: text to who asked for it, in chunks, only with credit. Never more than he takes.

What is too fast is not kept: whole lines are left out and counted, and the reader sees how many.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from agent.bridge.link import Link, LinkLostError
from bus.link import Chunk, End

CHUNK_BYTES = 16 * 1024
_PATIENCE_SECONDS = 60.0
_MOST_CREDIT = 256


@dataclass(slots=True)
class TaskStream:
    """One task's stream over one link."""

    task: str
    link: Link | None
    _credit: int = 0
    _number: int = 0
    _more: asyncio.Event = field(default_factory=asyncio.Event)

    def grant(self, chunks: int) -> None:
        self._credit = min(_MOST_CREDIT, self._credit + max(0, chunks))
        self._more.set()

    def cut(self) -> None:
        """There is no link any more."""
        self.link = None
        self._more.set()

    @property
    def has_credit(self) -> bool:
        return self._credit > 0

    async def send(self, text: str, dropped: int = 0) -> None:
        for part in chunked(text):
            await self._wait_for_credit()
            if self.link is None:
                raise LinkLostError("nobody listens to this stream any more")
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
            raise LinkLostError("the reader took nothing for a minute") from error


def chunked(text: str) -> list[str]:
    """Parts of at most 16 KiB each, cut between characters."""
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
