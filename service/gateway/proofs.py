"""Proof of possession: who enrols, or opens a session, signs with its own key what we gave.

Ed25519, raw and base64 on the wire. A key or signature that cannot be read is a wrong proof, not an
error of its own. Pure.
"""

from __future__ import annotations

import base64
import binascii
import hashlib

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

_KEY_BYTES = 32


def signed(public_key: str, signature: str, message: bytes) -> bool:
    key, proof = raw(public_key), raw(signature)
    if key is None or proof is None or len(key) != _KEY_BYTES:
        return False
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(proof, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def is_key(text: str) -> bool:
    key = raw(text)
    return key is not None and len(key) == _KEY_BYTES


def raw(text: str) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None


def token_hash(token: str) -> str:
    """What is kept of a one-time token."""
    return hashlib.sha256(token.encode()).hexdigest()
