"""Password hashes: argon2id in a thread, few at a time, equally slow for unknown names.

Verifying against a hash of nobody's password takes the time that a real one takes, so the delay of
an answer does not tell which names exist. Each run takes 64 MiB: the turns keep a flood of logins
from taking all memory, and one guesser from delaying everybody else. Turns go round the holders, so
a holder with many requests delays only itself; a request that finds all places taken is refused at
once.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from bus.http.budget import Budget

_AT_ONCE = 2
_PLACES = 64
_PLACES_OF_ONE = 24
_ADMINISTRATION = "administration"
"""The holder of turns for passwords that are being set, which needs a login already."""
SHORTEST = 12
LONGEST = 200


class TooManyWaitingError(Exception):
    """Too many wait already: come again in a moment."""


@dataclass(slots=True, kw_only=True)
class WaitingTurns:
    at_once: int
    slots: Budget
    """Those at work or waiting, by holder."""
    _working: int = 0
    _waiting: dict[str, deque[asyncio.Future[None]]] = field(default_factory=dict)

    @asynccontextmanager
    async def turn(self, holder: str) -> AsyncIterator[None]:
        """Wait for a turn of this holder; raises TooManyWaitingError."""
        if not self.slots.take(holder):
            raise TooManyWaitingError
        try:
            await self._wait(holder)
            try:
                yield
            finally:
                self._pass_on()
        finally:
            self.slots.give_back(holder)

    async def _wait(self, holder: str) -> None:
        if self._working < self.at_once:
            self._working += 1
            return
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        queue = self._waiting.setdefault(holder, deque())
        queue.append(mine)
        try:
            await mine
        except asyncio.CancelledError:
            if mine.done() and not mine.cancelled():
                self._pass_on()
            raise

    def _pass_on(self) -> None:
        """Give the turn to the next holder's first, passing over those who have gone."""
        while self._waiting:
            holder = next(iter(self._waiting))
            queue = self._waiting.pop(holder)
            following = queue.popleft()
            if queue:
                self._waiting[holder] = queue
            if not following.done():
                following.set_result(None)
                return
        self._working -= 1


def _turns() -> WaitingTurns:
    return WaitingTurns(at_once=_AT_ONCE, slots=Budget(total=_PLACES, share=_PLACES_OF_ONE))


@dataclass(frozen=True, slots=True, kw_only=True)
class Passwords:
    """Both methods raise NoPlaceError where too many wait already."""

    hasher: PasswordHasher = field(default_factory=PasswordHasher)
    turns: WaitingTurns = field(default_factory=_turns)
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
