"""Files written so that a reader sees the old content or the new, never half of it."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Write beside `path`, then rename. Blocking. What a crash leaves ends in `.part`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(name).replace(path)
    except BaseException:
        with suppress(FileNotFoundError):
            Path(name).unlink()
        raise


def sweep_parts(folder: Path) -> None:
    """Remove what a crash left; for the one process that owns `folder`, before it writes."""
    for path in folder.rglob("*.part"):
        path.unlink(missing_ok=True)
