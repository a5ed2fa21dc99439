"""Files of a cache, written a moment later and many at once: the port `Files` of the stores.

A hop to a thread costs more than the few kilobytes that a render leaves on the disk. So nobody
waits for them: what gathers within a moment goes there in one hop. Everything written here can be
made again from Git, so a crash that takes the last moment with it, or a disk that is full, costs
time only. What is large is written at once, and who writes faster than the disk waits for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import structlog

from agent.store.files import write_whole

log = structlog.get_logger()

_MOMENT = 0.1
_LARGE = 256 * 1024
_MOST = 16 * 1024 * 1024

Batch = Mapping[Path, bytes | None]
"""None: to be removed."""


class Later:
    """`async with`: at the end everything is on the disk."""

    def __init__(self) -> None:
        self._waiting: dict[Path, bytes | None] = {}
        self._bytes = 0
        self._under_way: asyncio.Future[OSError | None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.settled()

    async def write(self, path: Path, content: bytes) -> None:
        self._put(path, content)
        if len(content) > _LARGE or self._bytes > _MOST:
            await self.settled()

    async def remove(self, path: Path) -> None:
        self._put(path, None)

    async def settled(self) -> None:
        """Until all that was said so far is on the disk."""
        while self._waiting or self._under_way is not None:
            self._begin()
            if self._under_way is not None:
                await asyncio.wait((self._under_way,))

    def _put(self, path: Path, content: bytes | None) -> None:
        self._bytes += len(content or b"") - len(self._waiting.get(path) or b"")
        self._waiting[path] = content
        if self._timer is None and self._under_way is None:
            self._timer = asyncio.get_running_loop().call_later(_MOMENT, self._begin)

    def _begin(self) -> None:
        """The next batch, unless one is under way: then that one's end begins it."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._under_way is not None or not self._waiting:
            return
        batch, self._waiting, self._bytes = self._waiting, {}, 0
        self._under_way = asyncio.get_running_loop().run_in_executor(None, _write, batch)
        self._under_way.add_done_callback(self._end)

    def _end(self, done: asyncio.Future[OSError | None]) -> None:
        self._under_way = None
        error = None if done.cancelled() else done.result()
        if error is not None:
            log.warning("cache not written: it is made again when needed", error=str(error))
        self._begin()


def _write(batch: Batch) -> OSError | None:
    """All that can be written; the last reason where something could not."""
    found = None
    for path, content in batch.items():
        try:
            if content is None:
                path.unlink(missing_ok=True)
            else:
                write_whole(path, content)
        except OSError as error:
            found = error
    return found
