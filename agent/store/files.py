"""Files written so that a reader sees the old content or the new, never half of it."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from pathlib import Path
from typing import Protocol


class Files(Protocol):
    """Where a store keeps its files; when they are on the disk is the implementation's affair."""

    async def write(self, path: Path, content: bytes) -> None: ...
    async def remove(self, path: Path) -> None: ...


class Promptly:
    """On the disk when the call returns."""

    async def write(self, path: Path, content: bytes) -> None:
        await asyncio.to_thread(write_whole, path, content)

    async def remove(self, path: Path) -> None:
        await asyncio.to_thread(path.unlink, missing_ok=True)


def write_whole(path: Path, content: bytes) -> None:
    """Write beside `path`, then rename; for our eyes only. Blocking.

    What a crash leaves ends in `.part`.
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
        os.rename(part, path)  # noqa: PTH104  a Path is dear where a thousand files are written
    except BaseException:
        with suppress(FileNotFoundError):
            Path(part).unlink()
        raise


def _created(name: str) -> int:
    return os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)


def sweep_parts(folder: Path) -> None:
    """Remove what a crash left; for the one process that owns `folder`, before it writes."""
    for path in folder.rglob("*.part"):
        path.unlink(missing_ok=True)
