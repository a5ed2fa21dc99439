"""Passwords: argon2id, in a thread, few at a time, and as slow for a name that does not exist.

Verifying against a hash of nobody's password takes the time that a real one takes, so the answer's
delay does not tell which names exist. Each run takes 64 MiB: the gate keeps a flood of logins from
taking all memory.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

_AT_ONCE = 2
SHORTEST = 12
LONGEST = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Passwords:
    hasher: PasswordHasher = field(default_factory=PasswordHasher)
    gate: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_AT_ONCE))
    _nobody: list[str] = field(default_factory=list)
    """The hash that stands for names that do not exist, made at the first login."""

    async def hash(self, password: str) -> str:
        async with self.gate:
            return await asyncio.to_thread(self.hasher.hash, password)

    async def fits(self, password: str, known: str) -> bool:
        """`known`: the stored hash; empty where there is none, which fits nothing, as slowly."""
        async with self.gate:
            if not self._nobody:
                self._nobody.append(await asyncio.to_thread(self.hasher.hash, "nobody"))
            found = await asyncio.to_thread(self._verify, password, known or self._nobody[0])
        return found and bool(known)

    def _verify(self, password: str, known: str) -> bool:
        try:
            return self.hasher.verify(known, password)
        except (VerificationError, InvalidHashError):
            return False


def hash_password(password: str) -> str:
    """Blocks for a tenth of a second: for starts and command lines."""
    return PasswordHasher().hash(password)
