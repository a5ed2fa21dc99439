"""The key file: read at the start, and again when it changes: a rotation needs no restart.

A file that turns unreadable while the service runs changes nothing: the keys that were read last
stay in use, and that is logged.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from service.keys.key_ring import KeyFileError, KeyRing, parse, render
from service.keys.root_key import new_root_key

log = structlog.get_logger()

_LARGEST = 64 * 1024
_PRIVATE = 0o600


@dataclass(slots=True)
class KeyFile:
    """Get one from `open_key_file`; `ring` is what the file holds now."""

    path: Path
    _ring: KeyRing
    _mark: tuple[int, int, int] = field(default=(0, 0, 0))
    fresh: bool = False
    """Made at this start, so no database was ever used with it."""

    @property
    def ring(self) -> KeyRing:
        try:
            mark = _mark_of(self.path)
            if mark != self._mark:
                self._ring, self._mark = read_ring(self.path), mark
        except (OSError, KeyFileError) as error:
            log.warning("key file not read again", file=str(self.path), reason=str(error))
        return self._ring


def open_key_file(path: Path, *, fresh: bool = False) -> KeyFile:
    """Raises KeyFileError."""
    try:
        return KeyFile(path, read_ring(path), _mark_of(path), fresh)
    except FileNotFoundError:
        raise KeyFileError(
            f"GITOPS_SERVICE_KEY_FILE: there is no file {path}. Restore it; on a database that was"
            " never used, make one with `gitops service new-key FILE`, or start with"
            " GITOPS_SERVICE_KEY_GENERATE=true"
        ) from None
    except OSError as error:
        raise KeyFileError(f"GITOPS_SERVICE_KEY_FILE: {path}: {error.strerror}") from error


def read_ring(path: Path) -> KeyRing:
    """Raises OSError, KeyFileError."""
    with path.open("rb") as file:
        raw = file.read(_LARGEST)
    try:
        return parse(raw.decode())
    except (KeyFileError, UnicodeDecodeError) as error:
        raise KeyFileError(f"GITOPS_SERVICE_KEY_FILE: {path}: {error}") from error


def generate(path: Path) -> bool:
    """Make the file with one new key; False where there is one. Raises OSError."""
    with _written(path, KeyRing((new_root_key(),))) as made:
        try:
            os.link(made, path)
        except FileExistsError:
            return False
    return True


def replace(path: Path, ring: KeyRing) -> None:
    """The whole file at once: a reader sees the old one or the new one. Raises OSError."""
    with _written(path, ring) as made:
        Path(made).replace(path)


@contextlib.contextmanager
def _written(path: Path, ring: KeyRing) -> Iterator[str]:
    """A file beside it, for its owner only."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, made = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w") as file:
            os.fchmod(file.fileno(), _PRIVATE)
            file.write(render(ring))
            file.flush()
            os.fsync(file.fileno())
        yield made
    finally:
        with contextlib.suppress(FileNotFoundError):
            Path(made).unlink()


def _mark_of(path: Path) -> tuple[int, int, int]:
    found = path.stat()
    return found.st_mtime_ns, found.st_size, found.st_ino
