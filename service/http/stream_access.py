"""Access of open streams: a stream runs for as long as its caller may read it.

Triggers of the database send a signal for each change of access (migration 0004), with the id of
the principal or account. A stream checks its access then, and when its session or token expires: it
ends with the login, token, role or binding behind it. One check a minute is the safety net.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import datetime

from aiohttp import web
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.ext.asyncio import AsyncEngine

from service.access.decision import Caller
from service.http.call import ApiCall, Clock
from service.http.login_check import LoginCheck
from service.http.problem import ProblemError
from service.store.signals import Signals

CHANNEL = "access"
_LONGEST = 60.0
_LEAST = 0.05
Look = Callable[[], Awaitable[datetime | None]]
"""Raises AccessEndedError where the stream may not go on; else when to look again at the latest."""
LOGIN_ENDED = "the login has ended"
ACCESS_ENDED = "you no longer have permission to read this"
UNKNOWN = "your access cannot be checked now; open the stream again"
_AT_ONCE = 4
Holds = Callable[[ApiCall], Awaitable[object]]
"""Raises ProblemError where the caller, as bound now, may not read the stream."""


class AccessEndedError(Exception):
    """Why a stream ends, as its reader is told."""


@dataclass(slots=True, kw_only=True)
class AccessWatch:
    signals: Signals
    clock: Callable[[], datetime]
    who: Caller
    look: Look
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self, work: Callable[[], Awaitable[None]]) -> str:
        """Do the stream's work until it ends, or until access does: then why, in words."""
        with self.signals.subscribed(CHANNEL, self._receive):
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

    def _receive(self, changed_id: str) -> None:
        if changed_id in ("", self.who.id, self.who.account):
            self._changed.set()


def _first(errors: BaseException) -> BaseException:
    """The error that ended a group of tasks, as if none stood between; the work's own counts."""
    while isinstance(errors, BaseExceptionGroup):
        others = errors.split(AccessEndedError)[1]
        errors = (others or errors).exceptions[0]
    return errors


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamAccess:
    engine: AsyncEngine
    signals: Signals
    clock: Clock
    login_check: LoginCheck
    _turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_AT_ONCE))
    """Of streams that check their access at once, as all do when a role changes."""

    async def while_allowed(
        self, call: ApiCall, holds: Holds, work: Callable[[], Awaitable[None]]
    ) -> str:
        """Do the work until it ends, or the caller's access does: then why, in words.

        Work that is cut is cancelled; what it wrote so far is whole.
        """

        async def look() -> datetime | None:
            return (await self._look(call, holds)).until

        watch = AccessWatch(signals=self.signals, clock=self.clock, who=call.caller, look=look)
        return await watch.run(work)

    async def _look(self, call: ApiCall, holds: Holds) -> Caller:
        now = self.clock()
        try:
            async with self._turns, self.engine.connect() as connection:
                who = await self.login_check.renewed(connection, call.request, now)
                if who is None:
                    raise AccessEndedError(LOGIN_ENDED)
                await holds(replace(call, connection=connection, caller=who, now=now))
        except ProblemError as e:
            raise AccessEndedError(ACCESS_ENDED) from e
        except (DBAPIError, PoolTimeoutError, OSError) as e:
            raise AccessEndedError(UNKNOWN) from e
        return who


STREAM_ACCESS = web.AppKey("stream_access", StreamAccess)
