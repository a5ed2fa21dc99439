"""The change feed: read for the listeners of this process, and trimmed to a day.

A notification names the account that changed; an empty one says that some may have been missed. The
rows are the truth: they are read from this process's cursor, so no event is lost or comes twice.

Only a day is kept, because the record of what happened is `facts` and `audit`. The newest row of
each account stays, so a subscriber after a quiet week gets no gap.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import structlog
from sqlalchemy import delete, func, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.ext.asyncio import AsyncEngine

from service.live.feed_reader import PAGE, AgentScopes, events_after
from service.live.listener_hub import ListenerHub
from service.observe.metrics import ServiceMetrics, make_metrics
from service.store.changes import CHANNEL
from service.store.signals import Signals
from service.store.tables import changes

log = structlog.get_logger()

_AGAIN_AFTER = 1.0
_LOOK_EVERY = 5.0
"""Seconds after which all are looked at though nothing was heard."""


@dataclass(slots=True, kw_only=True)
class ChangeFeed:
    engine: AsyncEngine
    signals: Signals
    hub: ListenerHub
    clock: Callable[[], datetime]
    metrics: ServiceMetrics = field(default_factory=make_metrics)
    scopes: AgentScopes = field(default_factory=AgentScopes)
    _changed: set[str] = field(default_factory=set)

    async def run(self) -> None:
        """Until cancelled."""
        with self.signals.subscribed(CHANNEL, self._receive):
            while True:
                await self._until_changed()
                await self._look()

    def _receive(self, account: str) -> None:
        self._changed |= {account} if account else set(self.hub.cursors)
        self.hub.changed.set()

    async def _until_changed(self) -> None:
        try:
            async with asyncio.timeout(_LOOK_EVERY):
                await self.hub.changed.wait()
        except TimeoutError:
            self._changed |= set(self.hub.cursors)
        else:
            self._changed |= set() if self._changed else set(self.hub.cursors)
        self.hub.changed.clear()

    async def _look(self) -> None:
        accounts, self._changed = self._changed & set(self.hub.cursors), set()
        try:
            for account in sorted(accounts):
                await self._read(account)
        except (DBAPIError, PoolTimeoutError, OSError) as e:
            log.warning("the change feed cannot be read, again soon", error=type(e).__name__)
            self._changed |= accounts
            self.hub.changed.set()
            await asyncio.sleep(_AGAIN_AFTER)

    async def _read(self, account: str) -> None:
        """Pages, until none is left; a pause between two lets the listeners write."""
        while account in self.hub.cursors:
            cursor, now = self.hub.cursors[account], self.clock()
            async with self.engine.connect() as connection:
                found = await events_after(connection, account, cursor, self.scopes, now)
            self.hub.hand_out(account, found)
            if found:
                lag = self.clock() - found[-1].time
                self.metrics.live_lag.observe(max(0.0, lag.total_seconds()))
            if len(found) < PAGE:
                return
            await asyncio.sleep(0)


KEPT = timedelta(days=1)
_TRIM_EVERY = 600.0
_TRIM_AT_ONCE = 10_000


async def trim(engine: AsyncEngine, now: datetime) -> int:
    """Delete old changes, in small statements that hold back no writer; return how many."""
    gone = 0
    while True:
        last = select(func.max(changes.c.id)).group_by(changes.c.account_id)
        old = (
            select(changes.c.id)
            .where(changes.c.time < now - KEPT, changes.c.id.not_in(last))
            .limit(_TRIM_AT_ONCE)
        )
        async with engine.begin() as connection:
            result = await connection.execute(delete(changes).where(changes.c.id.in_(old)))
        gone += result.rowcount
        if result.rowcount < _TRIM_AT_ONCE:
            return gone


async def trimming(engine: AsyncEngine, clock: Callable[[], datetime]) -> None:
    """Trim until cancelled; several replicas may do it at once."""
    while True:
        try:
            await trim(engine, clock())
        except (DBAPIError, PoolTimeoutError, OSError) as e:
            log.warning("the change feed cannot be trimmed, again later", error=type(e).__name__)
        await asyncio.sleep(_TRIM_EVERY)
