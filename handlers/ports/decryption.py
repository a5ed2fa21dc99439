"""The port of decryption: what SOPS has encrypted is opened with the keys of a project."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Protocol

import msgspec

from handlers.application.application import Application


class DecryptionProblem(StrEnum):
    """Why an object is not opened."""

    NO_KEYS = "no keys"
    KEY_INVALID = "key"
    KEY_MISSING = "missing"
    KEY_UNSUPPORTED = "unsupported"
    BROKEN_MAC = "mac"
    MALFORMED = "malformed"
    MOVED = "moved"
    PARTIAL_MAC = "partial"
    UNVERIFIED = "unverified"
    TOO_LARGE = "too large"
    FAILED = "failed"


class DecryptionError(Exception):
    """An object is not opened: `object` is its place among those that were sent, -1 for none."""

    def __init__(
        self,
        problem: DecryptionProblem,
        message: str = "",
        *,
        place: int = -1,
        file: str = "",
        recipients: Sequence[str] = (),
    ) -> None:
        super().__init__(f"{problem}: {message}" if message else str(problem))
        self.problem = problem
        self.message = message
        self.place = place
        self.file = file
        self.recipients = tuple(recipients)
        """The public keys for which the object is encrypted."""


class EncryptedObjects(msgspec.Struct, frozen=True, kw_only=True):
    """Objects with a block `sops`, as JSON, and the committed files that they may come of."""

    objects: tuple[bytes, ...]
    files: Mapping[str, bytes] = {}
    """By path."""


class Decryption(Protocol):
    """Opens what SOPS has encrypted. Both raise DecryptionError."""

    async def verify(self, app: Application, found: EncryptedObjects) -> None:
        """Check that the objects can be opened, and that their files are as they were encrypted."""
        ...

    async def opened(self, app: Application, content: bytes) -> bytes:
        """Open the objects of an artifact; its other lines stay as they are.

        The result is for the memory only: it is neither stored nor logged.
        """
        ...


class NoDecryption:
    """Decryption where there are no keys: nothing encrypted passes."""

    async def verify(self, app: Application, found: EncryptedObjects) -> None:  # noqa: ARG002  the port's
        raise DecryptionError(DecryptionProblem.NO_KEYS, place=0)

    async def opened(self, app: Application, content: bytes) -> bytes:  # noqa: ARG002  the port's
        raise DecryptionError(DecryptionProblem.NO_KEYS, place=0)
