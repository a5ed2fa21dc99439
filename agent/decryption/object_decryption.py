"""ObjectDecryption opens encrypted objects with the keys of their project: the port Decryption.

What was opened is kept in memory, so that an artifact that is compared again needs no process. It
is kept under the digests of artifact and keys: with other keys it is opened anew, and without keys
not at all.
"""

from __future__ import annotations

import base64
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import msgspec

from agent.decryption.project_keys import KeyFinder, ProjectKeys, missing
from agent.decryption.sops_client import SopsClient
from bus.identity import Digest, digest_of
from handlers.application.application import Application
from handlers.application.decryption_keys import DecryptionKeys
from handlers.manifest.encryption import is_encrypted, may_hold_encrypted
from handlers.ports.decryption import DecryptionError, DecryptionProblem, EncryptedObjects
from handlers.report.known_secrets import pieces_of_value

_MOST_KEPT = 16 << 20

Learn = Callable[[Iterable[str]], None]
"""Takes the pieces of secret values that are to be masked in all that is shown."""


@dataclass(slots=True, kw_only=True)
class ObjectDecryption:
    """Implements handlers.ports.decryption.Decryption."""

    client: SopsClient
    keys: KeyFinder
    learn: Learn | None = None
    """None where nothing is shown to a service."""
    most_kept: int = _MOST_KEPT
    _kept: OrderedDict[tuple[Digest, Digest], bytes] = field(
        default_factory=OrderedDict, init=False, repr=False
    )
    _bytes: int = field(default=0, init=False)

    async def verify(self, app: Application, found: EncryptedObjects) -> None:
        keys = self.keys.of(app)
        try:
            await self.client.verify(keys, found.objects, found.files)
        except DecryptionError as error:
            raise _with_absent(error, keys.absent) from error

    async def opened(self, app: Application, content: bytes) -> bytes:
        keys = self.keys.of(app)
        known = (digest_of(content), _fingerprint(keys.keys))
        kept = self._kept.get(known)
        if kept is not None:
            self._kept.move_to_end(known)
            return kept
        try:
            opened = await self._open(keys, content)
        except DecryptionError as error:
            raise _with_absent(error, keys.absent) from error
        self._keep(known, opened)
        return opened

    async def _open(self, keys: ProjectKeys, content: bytes) -> bytes:
        lines = content.splitlines()
        places = [place for place, line in enumerate(lines) if _is_encrypted(line)]
        found = await self.client.open(keys, [lines[place] for place in places])
        if self.learn is not None:
            encoded = (base64.b64encode(value.encode()).decode() for value in found.values)
            self.learn(piece for one in encoded for piece in pieces_of_value(one, word=True))
        for place, opened in zip(places, found.objects, strict=True):
            lines[place] = bytes(opened)
        return b"".join(line + b"\n" for line in lines)

    def _keep(self, known: tuple[Digest, Digest], opened: bytes) -> None:
        if len(opened) > self.most_kept or known in self._kept:
            return
        self._kept[known] = opened
        self._bytes += len(opened)
        while self._bytes > self.most_kept:
            _, oldest = self._kept.popitem(last=False)
            self._bytes -= len(oldest)


def _is_encrypted(line: bytes) -> bool:
    return may_hold_encrypted(line) and is_encrypted(msgspec.json.decode(line))


def _fingerprint(keys: DecryptionKeys) -> Digest:
    return digest_of(msgspec.json.encode(keys))


def _with_absent(error: DecryptionError, absent: tuple[str, ...]) -> DecryptionError:
    """Name the Secrets that are not there, where one of them may have the key."""
    if error.problem is not DecryptionProblem.KEY_MISSING or not absent:
        return error
    return DecryptionError(
        error.problem,
        missing(absent),
        place=error.place,
        file=error.file,
        recipients=error.recipients,
    )
