"""FetchTurns lets those who wait for the same server share one fetch, and leaves it alone if asked.

Whoever waited for a fetch that began after he asked has what he wants. A server that answered 429
is not asked again before the time that it named.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from agent.download.downloader import OverloadedError
from handlers.ports import RepositoryError


class FetchTurns:
    def __init__(self) -> None:
        self.looked_at: datetime | None = None
        """When the last fetch that succeeded began."""
        self._lock = asyncio.Lock()
        self._begun = self._succeeded = 0
        self._began_at = -float("inf")
        self._overloaded: RepositoryError | None = None
        self._wait_until = -float("inf")

    async def run(self, fetch: Callable[[], Awaitable[None]]) -> None:
        """Fetch, unless a fetch that began after this call has succeeded. RepositoryError."""
        asked = self._begun
        async with self._lock:
            if self._succeeded > asked:
                return
            if self._overloaded is not None and time.monotonic() < self._wait_until:
                raise RepositoryError(self._overloaded.reason, self._overloaded.message)
            self._begun += 1
            began, began_at = datetime.now(UTC), time.monotonic()
            try:
                await fetch()
            except OverloadedError as error:
                self._overloaded = error
                self._wait_until = time.monotonic() + error.seconds
                raise
            self._overloaded = None
            self._succeeded = self._begun
            self.looked_at, self._began_at = began, began_at

    def fetched_since(self, since: float) -> bool:
        """Whether a fetch has begun since a time of the monotonic clock, and succeeded."""
        return self._began_at >= since
