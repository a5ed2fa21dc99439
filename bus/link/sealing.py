"""The fingerprint of a sealing key, by which people tell that it is their agent's.

Credentials are sealed to the agent's key, and the service hands that key out: one that lies about
it can read what is sealed. So the agent names the fingerprint, and whoever seals compares. The form
is that of OpenSSH: `SHA256:` and the digest of the raw key in base64 without padding.
"""

from __future__ import annotations

import base64
import hashlib

_KEY_BYTES = 32
"""Of X25519."""


def sealing_fingerprint(public_key: str) -> str:
    """Make the fingerprint of a key in base64; raises ValueError where it is none."""
    raw = base64.b64decode(public_key, validate=True)
    if len(raw) != _KEY_BYTES:
        raise ValueError(f"expected a key of {_KEY_BYTES} bytes, found {len(raw)}")
    digest = hashlib.sha256(raw).digest()
    return f"SHA256:{base64.b64encode(digest).decode().rstrip('=')}"
