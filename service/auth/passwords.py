"""Passwords: argon2id, in a thread, few at a time, and as slow for a name that does not exist.

Verifying against a hash of nobody's password takes the time that a real one takes, so the answer's
delay does not tell which names exist. Each run takes 64 MiB: the turns keep a flood of logins from
taking all memory, and one guesser from delaying everybody else.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from bus.http.budget import Budget
from service.auth.turns import Turns

_AT_ONCE = 2
_PLACES = 64
_PLACES_OF_ONE = 24
_ADMINISTRATION = "administration"
"""The holder of turns for passwords that are being set, which needs a login already."""
SHORTEST = 12
LONGEST = 200


def _turns() -> Turns:
    return Turns(at_once=_AT_ONCE, places=Budget(total=_PLACES, share=_PLACES_OF_ONE))


@dataclass(frozen=True, slots=True, kw_only=True)
class Passwords:
    """Both methods raise NoPlaceError where too many wait already."""

    hasher: PasswordHasher = field(default_factory=PasswordHasher)
    turns: Turns = field(default_factory=_turns)
    _nobody: list[str] = field(default_factory=list)
    """The hash that stands for names that do not exist, made at the first login."""

    async def hash(self, password: str) -> str:
        async with self.turns.turn(_ADMINISTRATION):
            return await asyncio.to_thread(self.hasher.hash, password)

    async def fits(self, password: str, known: str, holder: str = "") -> bool:
        """`known`: the stored hash; empty where there is none, which fits nothing, as slowly.

        `holder`: the address that asks.
        """
        async with self.turns.turn(holder):
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
