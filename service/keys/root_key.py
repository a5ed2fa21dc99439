"""One root key of the service, and the four keys that are derived from it. Pure.

    Ed25519      signs the records of the audit
    AES-256-GCM  encrypts columns; bound to the row, so that no value can be moved to another row
    HMAC-SHA256  signs the one-time tickets of agents' links
    HMAC-SHA256  binds the rows that say which agent is trusted

A root key is 32 random bytes. Its id is made of its public half, so a file can say which key it is
about without the key.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
from functools import cached_property

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

KEY_BYTES = 32
_NONCE_BYTES = 12
_ID_LENGTH = 16


class SealedValueError(Exception):
    """A column cannot be decrypted: another key encrypted it, or it was changed or moved."""


class VerifyingKey:
    """The public half of a root key: verifies what the root key signed."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw

    @cached_property
    def id(self) -> str:
        return hashlib.sha256(self.raw).hexdigest()[:_ID_LENGTH]

    @cached_property
    def text(self) -> str:
        """Raw and base64, as on the wire."""
        return base64.b64encode(self.raw).decode()

    def verifies(self, signature: str, message: bytes) -> bool:
        try:
            proof = base64.b64decode(signature, validate=True)
            Ed25519PublicKey.from_public_bytes(self.raw).verify(proof, message)
        except (InvalidSignature, ValueError, binascii.Error):
            return False
        return True


class RootKey:
    """Shows only its id."""

    def __init__(self, secret: bytes) -> None:
        if len(secret) != KEY_BYTES:
            raise ValueError(f"a root key has {KEY_BYTES} bytes")
        self._secret = secret

    def __repr__(self) -> str:
        return f"RootKey({self.id})"

    @property
    def id(self) -> str:
        return self.public.id

    @property
    def text(self) -> str:
        """The key itself in base64, for its file."""
        return base64.b64encode(self._secret).decode()

    @cached_property
    def public(self) -> VerifyingKey:
        return VerifyingKey(self._signing.public_key().public_bytes_raw())

    def sign(self, message: bytes) -> str:
        return base64.b64encode(self._signing.sign(message)).decode()

    def seal(self, text: str, associated_data: str) -> str:
        """`associated_data` names table, column and row: the value opens only there."""
        nonce = secrets.token_bytes(_NONCE_BYTES)
        sealed = AESGCM(self._sealing).encrypt(nonce, text.encode(), associated_data.encode())
        return base64.b64encode(nonce + sealed).decode()

    def unseal(self, sealed: str, associated_data: str) -> str:
        """Decrypt a value. Raises SealedValueError."""
        try:
            raw = base64.b64decode(sealed, validate=True)
            nonce, body = raw[:_NONCE_BYTES], raw[_NONCE_BYTES:]
            return AESGCM(self._sealing).decrypt(nonce, body, associated_data.encode()).decode()
        except (InvalidTag, ValueError, binascii.Error) as error:
            raise SealedValueError(
                f"{associated_data} cannot be decrypted with key {self.id}: it was changed or moved"
            ) from error

    def mac(self, message: bytes) -> str:
        return base64.b64encode(hmac.digest(self._binding, message, "sha256")).decode()

    @cached_property
    def ticket_key(self) -> bytes:
        return self._derived("agent link tickets")

    @cached_property
    def _signing(self) -> Ed25519PrivateKey:
        return Ed25519PrivateKey.from_private_bytes(self._derived("audit signatures"))

    @cached_property
    def _sealing(self) -> bytes:
        return self._derived("encrypted columns")

    @cached_property
    def _binding(self) -> bytes:
        return self._derived("bound rows")

    def _derived(self, purpose: str) -> bytes:
        info = f"gitops service {purpose}".encode()
        return HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=info).derive(self._secret)


def new_root_key() -> RootKey:
    return RootKey(secrets.token_bytes(KEY_BYTES))
