"""From the database to the hub: one reader per process, whoever made the change and wherever.

A notification names the account that changed; an empty one says that some may have been missed. The
rows are the truth: they are read from where this process stands, so nothing is lost and nothing
comes twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

import structlog
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.ext.asyncio import AsyncEngine

from service.live.hub import Hub
from service.live.reading import PAGE, Places, events_after
from service.observe.metrics import Metrics, make_metrics
from service.store.changes import CHANNEL
from service.store.signals import Signals

log = structlog.get_logger()

_AGAIN_AFTER = 1.0
_LOOK_EVERY = 5.0
"""Seconds after which all are looked at though nothing was heard."""


@dataclass(slots=True, kw_only=True)
class Feed:
    engine: AsyncEngine
    signals: Signals
    hub: Hub
    clock: Callable[[], datetime]
    metrics: Metrics = field(default_factory=make_metrics)
    places: Places = field(default_factory=Places)
    _told: set[str] = field(default_factory=set)

    async def run(self) -> None:
        """Until cancelled."""
        with self.signals.hearing(CHANNEL, self._hear):
            while True:
                await self._until_told()
                await self._look()

    def _hear(self, account: str) -> None:
        self._told |= {account} if account else set(self.hub.cursors)
        self.hub.changed.set()

    async def _until_told(self) -> None:
        try:
            async with asyncio.timeout(_LOOK_EVERY):
                await self.hub.changed.wait()
        except TimeoutError:
            self._told |= set(self.hub.cursors)
        else:
            self._told |= set() if self._told else set(self.hub.cursors)
        self.hub.changed.clear()

    async def _look(self) -> None:
        wanted, self._told = self._told & set(self.hub.cursors), set()
        try:
            for account in sorted(wanted):
                await self._read(account)
        except (DBAPIError, PoolTimeoutError, OSError) as e:
            log.warning("the change feed cannot be read, again soon", error=type(e).__name__)
            self._told |= wanted
            self.hub.changed.set()
            await asyncio.sleep(_AGAIN_AFTER)

    async def _read(self, account: str) -> None:
        """Pages, until none is left; a pause between two lets the listeners write."""
        while account in self.hub.cursors:
            cursor, now = self.hub.cursors[account], self.clock()
            async with self.engine.connect() as connection:
                found = await events_after(connection, account, cursor, self.places, now)
            self.hub.hand_out(account, found)
            if found:
                lag = self.clock() - found[-1].time
                self.metrics.live_lag.observe(max(0.0, lag.total_seconds()))
            if len(found) < PAGE:
                return
            await asyncio.sleep(0)
