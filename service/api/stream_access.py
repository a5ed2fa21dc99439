"""Streams of the API, run for as long as their caller may read them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime

from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from service.api.call import Call
from service.api.login_check import renewed
from service.api.problem import ProblemError
from service.auth.access_watch import AccessEndedError, AccessWatch
from service.auth.caller import Caller

LOGIN_ENDED = "the login has ended"
ACCESS_ENDED = "you no longer have permission to read this"
UNKNOWN = "your access cannot be checked now; open the stream again"

Holds = Callable[[Call], Awaitable[object]]
"""Raises ProblemError where the caller, as bound now, may not read the stream."""


async def while_allowed(call: Call, holds: Holds, work: Callable[[], Awaitable[None]]) -> str:
    """Do the work until it ends, or the caller's access does: then why, in words.

    Work that is cut is cancelled; what it wrote so far is whole.
    """
    parts = call.tools.parts

    async def look() -> datetime | None:
        return (await _look(call, holds)).until

    watch = AccessWatch(signals=parts.signals, clock=parts.clock, who=call.caller, look=look)
    return await watch.run(work)


async def _look(call: Call, holds: Holds) -> Caller:
    tools = call.tools
    now = tools.parts.clock()
    try:
        async with tools.access_looks, tools.parts.engine.connect() as connection:
            who = await renewed(tools, connection, call.request, now)
            if who is None:
                raise AccessEndedError(LOGIN_ENDED)
            await holds(replace(call, connection=connection, caller=who, now=now))
    except ProblemError as e:
        raise AccessEndedError(ACCESS_ENDED) from e
    except (DBAPIError, PoolTimeoutError, OSError) as e:
        raise AccessEndedError(UNKNOWN) from e
    return who
