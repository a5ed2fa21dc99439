"""Ids of events: fresh ones sort by time (UUID version 7), derived ones repeat (UUID version 8).

An event that is published again because its cause was handled again gets the same id, so that a
subscriber can drop what it has seen; RFC 9562 gives both layouts.
"""

from __future__ import annotations

import hashlib
import os
import time
import uuid

_RANDOM_BITS = 74


def new_id() -> str:
    """A UUID of now: 48 bits of milliseconds, then 74 random bits."""
    milliseconds = time.time_ns() // 1_000_000
    noise = int.from_bytes(os.urandom(10)) >> (80 - _RANDOM_BITS)
    return _uuid(version=7, head=milliseconds, noise=noise)


def derived_id(seed: str) -> str:
    """The same UUID for the same `seed`, wherever and whenever it is asked for."""
    raw = int.from_bytes(hashlib.blake2b(seed.encode(), digest_size=16).digest())
    return _uuid(version=8, head=raw >> 80, noise=raw & ((1 << _RANDOM_BITS) - 1))


def new_span_id() -> str:
    return os.urandom(8).hex()


def new_trace_id() -> str:
    return os.urandom(16).hex()


def _uuid(*, version: int, head: int, noise: int) -> str:
    high, low = noise >> 62, noise & ((1 << 62) - 1)
    return str(uuid.UUID(int=head << 80 | version << 76 | high << 64 | 0b10 << 62 | low))
