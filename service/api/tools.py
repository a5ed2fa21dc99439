"""What the API works with, made once per process from the service's parts."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field

from service.auth.bucket import Buckets
from service.auth.known import KnownCredentials
from service.auth.passwords import Passwords
from service.parts import Parts

RATE = 100.0
"""Requests a second of one actor, over time."""
BURST = 400.0
_LOOKS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    parts: Parts
    passwords: Passwords
    buckets: Buckets
    access_looks: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_LOOKS))
    """Streams that look at their access at once, as all do when a role changes."""
    known: KnownCredentials = field(default_factory=KnownCredentials)

    @classmethod
    def of(cls, parts: Parts, passwords: Passwords | None = None) -> Tools:
        buckets = Buckets(rate=RATE, burst=BURST, monotonic=time.monotonic)
        return cls(parts=parts, passwords=passwords or Passwords(), buckets=buckets)
