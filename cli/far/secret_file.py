"""A secret that was given once, into a new file that only its owner can read."""

from __future__ import annotations

import os
from pathlib import Path

from cli.far.errors import FarError
from cli.say import Exit


def write_secret(path: Path, secret: str) -> None:
    """Raises FarError where it exists already: it may be somebody else's, or readable for all."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as e:
        raise FarError(f"{path} cannot be written: {e.strerror}", Exit.BAD_INPUT) from e
    with os.fdopen(handle, "w") as stream:
        stream.write(f"{secret}\n")
