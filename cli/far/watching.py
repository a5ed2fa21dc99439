"""Waiting until something is so, by the service's change feed: a look after each event, no polling.

The stream is opened first and then looked at, so nothing that happens in between is missed. A
stream that is cut, by a restart of the service say, is opened again, and that is a look too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from cli.far import sse
from cli.far.client import Far
from cli.far.errors import FarError
from cli.far.sse import Told
from cli.say import Exit

_AGAIN = 1.0
"""Seconds until a cut stream is opened again."""
_OPENED = ("hello", "gap")

Look = Callable[[Told | None], Awaitable[bool]]
"""Whether it is so. The event that gives reason to look; None: look at everything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """`query`: which part of the feed; `concerns`: which events of that give reason to look."""

    far: Far
    query: Mapping[str, str]
    look: Look
    concerns: Callable[[Told], bool]

    async def until(self, seconds: float) -> bool:
        """Looks at once, after each event, and a last time when the seconds are over."""
        try:
            async with asyncio.timeout(seconds):
                await self._seen()
        except TimeoutError:
            return await self.look(None)
        return True

    async def _seen(self) -> None:
        heard = False
        while True:
            try:
                async with self.far.open("/events", self.query) as response:
                    async for event in sse.told(aiter(response.content)):
                        heard = True
                        if await self._look_at(event):
                            return
            except FarError as e:
                if e.code is not Exit.REFUSED or not heard:
                    raise
            await asyncio.sleep(_AGAIN)

    async def _look_at(self, event: Told) -> bool:
        if event.name in _OPENED:
            return await self.look(None)
        return self.concerns(event) and await self.look(event)
