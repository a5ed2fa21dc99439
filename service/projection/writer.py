"""The one writer of the projection: items, what follows from them, and the cursor together.

One transaction per batch: lock the epoch's cursor, take what is new, reduce, write, move the
cursor, tell. After its commit the agent is acknowledged, so an item is applied exactly once however
often it arrives. Agents do not wait for each other but for the last step, the change feed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import msgspec
import structlog
from sqlalchemy import Row, select, update
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from bus.link import Item
from service.observe.metrics import Metrics, make_metrics
from service.projection.clocks import on_our_clock
from service.projection.cursor import take
from service.projection.follow import Follower
from service.projection.reduce import reduce
from service.projection.reports import report
from service.projection.shrinking import hold_removals
from service.projection.values import Batch, Scope, moment, read
from service.projection.write import known_before, write
from service.store.changes import Change, note_all
from service.store.tables import agents, epochs

log = structlog.get_logger()


class FencedError(Exception):
    """A newer connection took over, or the agent was revoked: nothing was stored."""


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    cursor: int
    gap: bool
    quarantined: bool
    """Now: it may have been believed, or retired, since the connection began."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    engine: AsyncEngine
    clock: Callable[[], datetime]
    followers: tuple[Follower, ...] = ()
    metrics: Metrics = field(default_factory=make_metrics)

    async def store(self, scope: Scope, fence: int, items: Sequence[Item]) -> Stored:
        """Items of the outbox, in order. Raises FencedError."""
        now = self.clock()
        async with self.engine.begin() as connection:
            scope, cursor = await _locked(connection, scope, fence)
            taken = take(cursor, items)
            if taken.fresh:
                read_items = read(taken.fresh, now)
                batch, held = await self._guarded(connection, scope, read_items, now)
                changes = [*await self._apply(connection, scope, batch, now), *held]
                await _advance(connection, scope, taken.cursor, now)
                await note_all(connection, scope.account_id, changes)
        self._count(taken.fresh, now)
        return Stored(cursor=taken.cursor, gap=taken.gap, quarantined=scope.quarantined)

    def _count(self, fresh: Sequence[Item], now: datetime) -> None:
        """The lag is by the agent's clock, and never less than nothing."""
        for item in fresh:
            self.metrics.items.labels(item.kind.value).inc()
        if fresh:
            lag = self.clock() - moment(fresh[-1].time, now)
            self.metrics.item_lag.observe(max(0.0, lag.total_seconds()))

    async def store_bodies(self, scope: Scope, fence: int, items: Sequence[Item]) -> None:
        """States that were asked for: they have no place in the chain and move no cursor."""
        now = self.clock()
        async with self.engine.begin() as connection:
            scope, cursor = await _locked(connection, scope, fence)
            placed = [msgspec.structs.replace(item, sequence=cursor) for item in items]
            batch = Batch(states=read(placed, now).states)
            changes = await self._apply(connection, scope, batch, now)
            await note_all(connection, scope.account_id, changes)

    async def _guarded(
        self, connection: AsyncConnection, scope: Scope, batch: Batch, now: datetime
    ) -> tuple[Batch, list[Change]]:
        """`batch` on our clock, without tombstones that are too many to be believed at once."""
        mine = agents.c.id == scope.agent_id
        skew = (await connection.execute(select(agents.c.clock_skew_ms).where(mine))).scalar_one()
        batch = on_our_clock(batch, skew, now)
        if scope.quarantined:
            return batch, []
        return await hold_removals(connection, scope, batch, now)

    async def _apply(
        self, connection: AsyncConnection, scope: Scope, batch: Batch, now: datetime
    ) -> list[Change]:
        if batch.unreadable:
            log.warning("items left out", agent=scope.agent, count=batch.unreadable)
        written = reduce(scope, batch, await known_before(connection, scope, batch), now)
        await write(connection, scope, written)
        changes = [*written.changes, *await report(connection, scope, batch, now)]
        if not scope.quarantined:
            for follower in self.followers:
                changes += await follower(connection, scope, batch, now)
        return changes


async def _locked(connection: AsyncConnection, scope: Scope, fence: int) -> tuple[Scope, int]:
    """The cursor, held until the commit, and the scope as the epoch's state is now."""
    mine = (epochs.c.agent_id == scope.agent_id) & (epochs.c.epoch == scope.epoch)
    query = (
        select(epochs.c.cursor, epochs.c.state, agents.c.fence, agents.c.state.label("agent"))
        .join(agents, agents.c.id == epochs.c.agent_id)
        .where(mine)
        .with_for_update(of=epochs)
    )
    row: Row[int, str, int, str] | None = (await connection.execute(query)).one_or_none()
    if row is None or row.fence != fence or row.agent != "enrolled" or row.state == "retired":
        raise FencedError("the link of this agent is another one now, or it is revoked")
    return msgspec.structs.replace(scope, quarantined=row.state != "active"), row.cursor


async def _advance(connection: AsyncConnection, scope: Scope, cursor: int, now: datetime) -> None:
    mine = (epochs.c.agent_id == scope.agent_id) & (epochs.c.epoch == scope.epoch)
    await connection.execute(update(epochs).where(mine).values(cursor=cursor))
    await connection.execute(
        update(agents).where(agents.c.id == scope.agent_id).values(heard_at=now)
    )
