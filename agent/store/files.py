"""Files are written atomically: a reader sees the old content or the new, never half of it.

PromptFiles writes before the call returns; WriteBehind remembers the content and writes it soon.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

import structlog

log = structlog.get_logger()

_DELAY_SECONDS = 0.1
_LARGE = 256 * 1024
_MOST = 16 * 1024 * 1024

Batch = Mapping[Path, bytes | None]
"""Contents by path; None removes the file."""


class FileWriter(Protocol):
    """Writes a store's files; the implementation decides when they are on the disk."""

    async def write(self, path: Path, content: bytes) -> None: ...
    async def remove(self, path: Path) -> None: ...


class PromptFiles:
    """Writes each file before the call returns."""

    async def write(self, path: Path, content: bytes) -> None:
        await asyncio.to_thread(write_whole, path, content)

    async def remove(self, path: Path) -> None:
        await asyncio.to_thread(path.unlink, missing_ok=True)


def write_whole(path: Path, content: bytes) -> None:
    """Write beside `path`, then rename; readable by this user only. Blocking.

    Files that a crash leaves end in `.part`.
    """
    part = f"{path}.{os.urandom(6).hex()}.part"
    try:
        handle = _created(part)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = _created(part)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.rename(part, path)  # noqa: PTH104  a Path is expensive where a thousand files are written
    except BaseException:
        with suppress(FileNotFoundError):
            Path(part).unlink()
        raise


def _created(name: str) -> int:
    return os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)


def sweep_parts(folder: Path) -> None:
    """Remove the files that a crash left; only for the owner of `folder`, before it writes."""
    for path in folder.rglob("*.part"):
        path.unlink(missing_ok=True)


class WriteBehind:
    """WriteBehind writes the files of a cache a little later and many at once: port `FileWriter`.

    A hop to a thread costs more than the few kilobytes that a render writes. So no caller
    waits: the files of a tenth of a second are written in one hop. All of them can be made
    again from Git, so a crash that loses them, or a full disk, costs time only. A large file is
    written at once, and a caller that is faster than the disk waits for it.

    At the end of `async with` everything is on the disk.
    """

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
        """Wait until all earlier writes are on the disk."""
        while self._waiting or self._under_way is not None:
            self._begin()
            if self._under_way is not None:
                await asyncio.wait((self._under_way,))

    def _put(self, path: Path, content: bytes | None) -> None:
        self._bytes += len(content or b"") - len(self._waiting.get(path) or b"")
        self._waiting[path] = content
        if self._timer is None and self._under_way is None:
            self._timer = asyncio.get_running_loop().call_later(_DELAY_SECONDS, self._begin)

    def _begin(self) -> None:
        """Begin the next batch; while one is under way, its end does that."""
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
    """Write all files that can be written; return the last error."""
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
