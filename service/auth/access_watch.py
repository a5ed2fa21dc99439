"""The access of an open stream: the stream ends with the login, token, role or binding behind it.

Triggers of the database send a signal for each change of access (migration 0004), with the id of
the principal or account that is concerned. Whoever holds a stream open looks again then, and when
the session or token runs out. Nothing polls, but for one look a minute as a safety net.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime

from service.auth.caller import Caller
from service.store.signals import Signals

CHANNEL = "access"
_LONGEST = 60.0
_LEAST = 0.05


class AccessEndedError(Exception):
    """Why a stream ends, as its reader is told."""


Look = Callable[[], Awaitable[datetime | None]]
"""Raises AccessEndedError where the stream may not go on; else when to look again at the latest."""


@dataclass(slots=True, kw_only=True)
class AccessWatch:
    signals: Signals
    clock: Callable[[], datetime]
    who: Caller
    look: Look
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self, work: Callable[[], Awaitable[None]]) -> str:
        """Do the stream's work until it ends, or until access does: then why, in words."""
        with self.signals.hearing(CHANNEL, self._hear):
            try:
                async with asyncio.TaskGroup() as group:
                    watching = group.create_task(self._until_ended(), name="access of a stream")
                    await work()
                    watching.cancel()
            except BaseExceptionGroup as errors:
                first = _first(errors)
                if not isinstance(first, AccessEndedError):
                    raise first from None
                return str(first)
        return ""

    async def _until_ended(self) -> None:
        while True:
            self._changed.clear()
            until = await self.look()
            await self._until_changed(until)

    async def _until_changed(self, until: datetime | None) -> None:
        left = (until - self.clock()).total_seconds() if until is not None else _LONGEST
        try:
            async with asyncio.timeout(min(max(left, _LEAST), _LONGEST)):
                await self._changed.wait()
        except TimeoutError:
            return

    def _hear(self, concerned: str) -> None:
        if concerned in ("", self.who.id, self.who.account):
            self._changed.set()


def _first(errors: BaseException) -> BaseException:
    """The error that ended a group of tasks, as if none stood between; the work's own counts."""
    while isinstance(errors, BaseExceptionGroup):
        others = errors.split(AccessEndedError)[1]
        errors = (others or errors).exceptions[0]
    return errors
