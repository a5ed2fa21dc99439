"""What is shown once and kept as a hash: session cookies and API tokens.

They are 32 random bytes, so a plain sha256 is enough: there is nothing to guess.
"""

from __future__ import annotations

import hashlib
import secrets

API_TOKEN = "gt_"  # noqa: S105  the prefix, by which scanners find a leaked one


def new_secret(prefix: str = "") -> str:
    return prefix + secrets.token_urlsafe(32)


def hash_of(secret: str) -> str:
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()


def same(given: str, known: str) -> bool:
    """In constant time."""
    return secrets.compare_digest(given.encode(errors="replace"), known.encode())
