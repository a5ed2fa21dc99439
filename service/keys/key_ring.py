"""The key ring: the keys of one key file, in the order in which they stand there. Pure.

# comments and empty lines are allowed
secret <base64, 32 bytes>      the first one signs and encrypts; further ones are still accepted
retired <base64, public key>   verifies old signatures of the audit, and nothing else
"""

from __future__ import annotations

import base64
import binascii
import hmac
from dataclasses import dataclass

from service.keys.root_key import KEY_BYTES, PublicKey, RootKey, SealedValueError

_HEAD = """\
# Keys of the GitOps service: whoever has this file can sign its audit and read its secrets.
# Keep a copy apart from the copies of the database. Rotate with: gitops service rotate-key
"""


class KeyFileError(Exception):
    """The service cannot work with its key file: what it found, and what to do."""


@dataclass(frozen=True, slots=True)
class KeyRing:
    """`secret` has at least one key; the first one is in use."""

    secret: tuple[RootKey, ...]
    retired: tuple[PublicKey, ...] = ()

    @property
    def current(self) -> RootKey:
        return self.secret[0]

    def public(self, key_id: str) -> PublicKey | None:
        known = (*(key.public for key in self.secret), *self.retired)
        return next((key for key in known if key.id == key_id), None)

    def verifies(self, key_id: str, signature: str, message: bytes) -> bool:
        key = self.public(key_id)
        return key is not None and key.verifies(signature, message)

    def verifies_mac(self, key_id: str, mac: str, message: bytes) -> bool:
        """By a secret key of the file: a retired one makes no MAC."""
        key = next((key for key in self.secret if key.id == key_id), None)
        return key is not None and hmac.compare_digest(key.mac(message).encode(), mac.encode())

    def unseal(self, key_id: str, sealed: str, place: str) -> str:
        """Raises SealedValueError."""
        key = next((key for key in self.secret if key.id == key_id), None)
        if key is None:
            raise SealedValueError(
                f"{place} was encrypted with key {key_id}, which is not in the key file: put the"
                " line of that key back"
            )
        return key.unseal(sealed, place)


def parse(text: str) -> KeyRing:
    """Raises KeyFileError; no message repeats what stands in the file."""
    secret: list[RootKey] = []
    retired: list[PublicKey] = []
    for number, line in enumerate(text.splitlines(), 1):
        word, _, rest = line.strip().partition(" ")
        if not word or word.startswith("#"):
            continue
        if word == "secret":
            secret.append(RootKey(_decoded(rest, number)))
        elif word == "retired":
            retired.append(PublicKey(_decoded(rest, number)))
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
    """Of the older keys only the public halves are left."""
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
