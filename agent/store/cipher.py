"""The cipher encrypts artifacts wherever they are stored, because they hold rendered Secrets.

AES-256-GCM with the agent's own key, which stands in a Secret beside the agent: the disk or the
Redis alone reveals nothing. An artifact is bound to its digest, so that one cannot be put in
another's place. An artifact that cannot be decrypted, because the key was lost or the bytes are
damaged, counts as missing and is rendered again from Git.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from bus.identity import Digest

_FORMAT = b"\x01"
_NONCE_BYTES = 12


@dataclass(frozen=True, slots=True)
class Cipher:
    key: bytes = field(repr=False)
    """32 bytes."""

    def encrypt(self, digest: Digest, content: bytes) -> bytes:
        nonce = os.urandom(_NONCE_BYTES)
        return _FORMAT + nonce + AESGCM(self.key).encrypt(nonce, content, _bound(digest))

    def decrypt(self, digest: Digest, kept: bytes) -> bytes | None:
        start = len(_FORMAT) + _NONCE_BYTES
        nonce, sealed = kept[len(_FORMAT) : start], kept[start:]
        if not kept.startswith(_FORMAT) or len(nonce) < _NONCE_BYTES:
            return None
        try:
            return AESGCM(self.key).decrypt(nonce, sealed, _bound(digest))
        except InvalidTag:
            return None


def _bound(digest: Digest) -> bytes:
    return digest.encode()
