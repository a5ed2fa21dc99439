"""The key file and its key ring: read at the start, and again when the file changes.

    # comments and empty lines are allowed
    secret <base64, 32 bytes>      the first one signs and encrypts; further ones are still accepted
    retired <base64, public key>   verifies old signatures of the audit, and nothing else

So a rotation needs no restart. A file that becomes unreadable while the service runs changes
nothing: the keys that were read last stay in use, and that is logged.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import hmac
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from service.keys.root_key import KEY_BYTES, RootKey, SealedValueError, VerifyingKey, new_root_key

log = structlog.get_logger()

_HEAD = """\
# Keys of the GitOps service: whoever has this file can sign its audit and read its secrets.
# Keep a copy apart from the copies of the database. Rotate with: gitops service rotate-key
"""
_LARGEST = 64 * 1024
_PRIVATE = 0o600


class KeyFileError(Exception):
    """The service cannot work with its key file: what it found, and what to do."""


@dataclass(frozen=True, slots=True)
class KeyRing:
    """`secret` has at least one key; the first one is in use."""

    secret: tuple[RootKey, ...]
    retired: tuple[VerifyingKey, ...] = ()

    @property
    def current(self) -> RootKey:
        return self.secret[0]

    def public(self, key_id: str) -> VerifyingKey | None:
        known = (*(key.public for key in self.secret), *self.retired)
        return next((key for key in known if key.id == key_id), None)

    def verifies(self, key_id: str, signature: str, message: bytes) -> bool:
        key = self.public(key_id)
        return key is not None and key.verifies(signature, message)

    def verifies_mac(self, key_id: str, mac: str, message: bytes) -> bool:
        """Verify a MAC by a secret key of the file: a retired one makes no MAC."""
        key = next((key for key in self.secret if key.id == key_id), None)
        return key is not None and hmac.compare_digest(key.mac(message).encode(), mac.encode())

    def unseal(self, key_id: str, sealed: str, associated_data: str) -> str:
        """Decrypt a value by the key that it names. Raises SealedValueError."""
        key = next((key for key in self.secret if key.id == key_id), None)
        if key is None:
            raise SealedValueError(
                f"{associated_data} was encrypted with key {key_id}, which is not in the key file:"
                " put the line of that key back"
            )
        return key.unseal(sealed, associated_data)


def parse(text: str) -> KeyRing:
    """Parse a key file; raises KeyFileError, and no message repeats what stands in the file."""
    secret: list[RootKey] = []
    retired: list[VerifyingKey] = []
    for number, line in enumerate(text.splitlines(), 1):
        word, _, rest = line.strip().partition(" ")
        if not word or word.startswith("#"):
            continue
        if word == "secret":
            secret.append(RootKey(_decoded(rest, number)))
        elif word == "retired":
            retired.append(VerifyingKey(_decoded(rest, number)))
        else:
            raise KeyFileError(f"line {number}: expected 'secret KEY' or 'retired KEY'")
    if not secret:
        raise KeyFileError("it holds no line 'secret KEY': make one with gitops service new-key")
    return KeyRing(tuple(secret), tuple(retired))


def render(ring: KeyRing) -> str:
    lines = [f"secret {key.text}\n" for key in ring.secret]
    return _HEAD + "".join([*lines, *(f"retired {key.text}\n" for key in ring.retired)])


def with_new_key(ring: KeyRing, key: RootKey) -> KeyRing:
    """`key` is in use from now on; the others are still accepted."""
    return KeyRing((key, *ring.secret), ring.retired)


def with_only_current(ring: KeyRing) -> KeyRing:
    """Keep the current key, and of the older ones only the public halves."""
    older = (key.public for key in ring.secret[1:])
    return KeyRing((ring.current,), (*older, *ring.retired))


def _decoded(text: str, number: int) -> bytes:
    try:
        raw = base64.b64decode(text.strip(), validate=True)
    except (ValueError, binascii.Error):
        raw = b""
    if len(raw) != KEY_BYTES:
        raise KeyFileError(f"line {number}: expected {KEY_BYTES} bytes in base64")
    return raw


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
    """Open the key file of an operator. Raises KeyFileError."""
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
    """Read the keys of a file. Raises OSError, KeyFileError."""
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
    """Replace the whole file at once: a reader sees the old one or the new one. Raises OSError."""
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
