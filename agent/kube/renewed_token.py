"""RenewedToken is the header with a bearer token that expires, for auth kinds of clusters."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime

Renew = Callable[[], Awaitable[tuple[str, datetime]]]
"""Gets a new token, and the time from which on the next one is to be asked for."""


class RenewedToken:
    """The token is renewed when its time has come, once for all requests that wait for it."""

    def __init__(self, renew: Renew) -> None:
        self._renew = renew
        self._lock = asyncio.Lock()
        self._token = ""
        self._until = datetime.min.replace(tzinfo=UTC)

    async def __call__(self) -> Mapping[str, str]:
        if datetime.now(UTC) >= self._until:
            async with self._lock:
                if datetime.now(UTC) >= self._until:
                    self._token, self._until = await self._renew()
        return {"Authorization": f"Bearer {self._token}"}
