"""Asks that the watches call for (and facts), on their way to the bus: merged, never lost.

Watches call `put` from a callback and must not block, so the asks wait here, one per subject, until
the pump has published them in batches. While the bus is away they stay: their number is bounded by
that of the applications, not by that of the changes.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

import structlog

from bus.carrier import CarrierError
from bus.events import Event
from bus.events.event import Fact

log = structlog.get_logger()

_BATCH = 256
_PAUSE = 1.0


class Publish(Protocol):
    async def __call__(self, *events: Event) -> object: ...


class PendingAsks:
    """`run` is a long task of the composition root."""

    def __init__(self, publish: Publish) -> None:
        self._publish = publish
        self._waiting: dict[tuple[object, ...], Event] = {}
        self._any = asyncio.Event()

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, *events: Event) -> None:
        """A hard refresh that waits is not replaced by a soft one."""
        for event in events:
            key = _place(event)
            waiting = self._waiting.get(key)
            if not (getattr(waiting, "hard", False) and not getattr(event, "hard", False)):
                self._waiting[key] = event
        if events:
            self._any.set()

    async def run(self) -> None:
        while True:
            await self._any.wait()
            self._any.clear()
            while self._waiting:
                await self._send()

    async def _send(self) -> None:
        batch = [self._waiting.pop(key) for key in tuple(self._waiting)[:_BATCH]]
        try:
            await self._publish(*batch)
        except CarrierError as error:
            log.warning("asks wait for the bus", waiting=len(batch), cause=str(error))
            self._return(batch)
            await asyncio.sleep(_PAUSE)

    def _return(self, batch: list[Event]) -> None:
        newer, self._waiting = self._waiting, {}
        self.put(*batch)
        self.put(*newer.values())


def _place(event: Event) -> tuple[object, ...]:
    """Two asks about one thing are one; two facts are two."""
    if isinstance(event, Fact):
        return event.name, str(event.key), event
    return event.name, str(event.key)
