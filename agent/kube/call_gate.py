"""CallGate ends the calls to a cluster that does not answer, and refuses further ones at once.

A call waits in a handler, and handlers are few: without a gate those of one dead cluster would hold
all of them until their deadlines. `suspect` is called when a call has no answer after some seconds;
whoever owns the gate finds out whether the server lives, and closes the gate if it does not. Where
many calls wait for a server that is merely slow, further ones are refused and tried again later.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from handlers.ports import ClusterUnreachableError, DestinationUnavailableError

SUSPECT_AFTER = 3.0
CROWD = 16
SLOW = 1.0


class CallGate:
    def __init__(self, cluster: str, suspect: Callable[[], None]) -> None:
        self._cluster = cluster
        self._suspect = suspect
        self._calls: dict[asyncio.Timeout, float] = {}
        """The calls without an answer, the oldest first, and when they began."""
        self._closed = ""

    def close(self, why: str) -> None:
        """End all calls, and refuse others until `open`."""
        self._closed = why
        now = asyncio.get_running_loop().time()
        for limit in self._calls:
            limit.reschedule(now)

    def open(self) -> None:
        self._closed = ""

    async def run(self, call: Callable[[], Awaitable[bytes]]) -> bytes:
        """Raises DestinationUnavailableError, ClusterUnreachableError and what the call raises."""
        loop = asyncio.get_running_loop()
        self._check(loop.time())
        timer = loop.call_later(SUSPECT_AFTER, self._suspect)
        limit = asyncio.timeout(None)
        try:
            async with limit:
                self._calls[limit] = loop.time()
                return await call()
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise DestinationUnavailableError(self._closed) from error
        finally:
            timer.cancel()
            self._calls.pop(limit, None)

    def _check(self, now: float) -> None:
        if self._closed:
            raise DestinationUnavailableError(self._closed)
        if len(self._calls) < CROWD:
            return
        oldest = now - next(iter(self._calls.values()))
        if oldest > SLOW:
            raise ClusterUnreachableError(
                f"the cluster {self._cluster} is slow: {len(self._calls)} requests have no answer"
                f" yet, the oldest one for {oldest:.0f} s"
            )
