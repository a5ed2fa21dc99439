"""The one writer of the projection: items, what follows from them, and the cursor together.

One transaction per batch: lock the epoch's cursor, take the new items, reduce, write, move the
cursor, announce. The agent is acknowledged after the commit, so an item is applied exactly once
however often it arrives. Agents wait for each other only at the last step, the change feed.

Followers keep tables of their own from each batch, inside the same transaction, so their tables
cannot contradict the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

import msgspec
import structlog
from sqlalchemy import Row, select, update
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from bus.link import LinkItem
from service.observe.metrics import ServiceMetrics, make_metrics
from service.projection.batch import Batch, BatchScope, on_our_clock, parsed_time, read
from service.projection.batch_changes import reduce
from service.projection.operation_chains import in_their_chains
from service.projection.removal_guard import NOTHING_HELD, RemovalHolds, hold_removals
from service.projection.row_writes import known_before, write
from service.projection.task_reports import report
from service.store.changes import FeedChange, note_all
from service.store.tables import agents, epochs

log = structlog.get_logger()


class FencedError(Exception):
    """A newer connection took over, or the agent was revoked: nothing was stored."""


class StoredBatch(msgspec.Struct, frozen=True, kw_only=True):
    cursor: int
    gap: bool
    quarantined: bool
    """Now: it may have been believed, or retired, since the connection began."""
    held: Mapping[str, frozenset[str]] = {}
    """Kind -> subjects whose tombstones the guard against many deletions holds."""


class EndedTasks(Protocol):
    """The port that hears, after the commit, of the tasks that an agent ended."""

    async def __call__(self, ids: Sequence[str], agent_id: str) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectionWriter:
    engine: AsyncEngine
    clock: Callable[[], datetime]
    followers: tuple[Follower, ...] = ()
    metrics: ServiceMetrics = field(default_factory=make_metrics)
    ended: EndedTasks | None = None

    async def store(self, scope: BatchScope, fence: int, items: Sequence[LinkItem]) -> StoredBatch:
        """Store items of the outbox, in order. Raises FencedError."""
        now = self.clock()
        async with self.engine.begin() as connection:
            scope, cursor = await _locked(connection, scope, fence)
            taken, held = take(cursor, items), NOTHING_HELD
            if taken.fresh:
                read_items = read(taken.fresh, now)
                held = await self._guarded(connection, scope, read_items, now)
                changes = [*await self._apply(connection, scope, held.batch, now), *held.changes]
                await _advance(connection, scope, taken.cursor, now)
                await note_all(connection, scope.account_id, changes)
        self._count(taken.fresh, now)
        if self.ended is not None and (results := tuple(it.id for it in held.batch.results)):
            await self.ended(results, scope.agent_id)
        return StoredBatch(
            cursor=taken.cursor,
            gap=taken.gap,
            quarantined=scope.quarantined,
            held=held.subjects,
        )

    def _count(self, fresh: Sequence[LinkItem], now: datetime) -> None:
        """Count the items; their lag is by the agent's clock, and never less than nothing."""
        for item in fresh:
            self.metrics.items.labels(item.kind.value).inc()
        if fresh:
            lag = self.clock() - parsed_time(fresh[-1].time, now)
            self.metrics.item_lag.observe(max(0.0, lag.total_seconds()))

    async def store_bodies(self, scope: BatchScope, fence: int, items: Sequence[LinkItem]) -> None:
        """Store states that were asked for: they have no place in the chain and move no cursor."""
        now = self.clock()
        async with self.engine.begin() as connection:
            scope, cursor = await _locked(connection, scope, fence)
            placed = [msgspec.structs.replace(item, sequence=cursor) for item in items]
            batch = Batch(states=read(placed, now).states)
            changes = await self._apply(connection, scope, batch, now)
            await note_all(connection, scope.account_id, changes)

    async def _guarded(
        self, connection: AsyncConnection, scope: BatchScope, batch: Batch, now: datetime
    ) -> RemovalHolds:
        """Put a batch on our clock and in its chains, and hold tombstones that are too many."""
        mine = agents.c.id == scope.agent_id
        skew = (await connection.execute(select(agents.c.clock_skew_ms).where(mine))).scalar_one()
        batch = await in_their_chains(connection, scope, on_our_clock(batch, skew, now))
        if scope.quarantined:
            return RemovalHolds(batch=batch)
        return await hold_removals(connection, scope, batch, now)

    async def _apply(
        self, connection: AsyncConnection, scope: BatchScope, batch: Batch, now: datetime
    ) -> list[FeedChange]:
        if batch.unreadable:
            log.warning("items left out", agent=scope.agent, count=batch.unreadable)
        written = reduce(scope, batch, await known_before(connection, scope, batch), now)
        await write(connection, scope, written)
        changes = [*written.changes, *await report(connection, scope, batch, now)]
        if not scope.quarantined:
            for follower in self.followers:
                changes += await follower(connection, scope, batch, now)
        return changes


async def _locked(
    connection: AsyncConnection, scope: BatchScope, fence: int
) -> tuple[BatchScope, int]:
    """Read and lock the cursor until the commit, and the scope as the epoch's state is now."""
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


async def _advance(
    connection: AsyncConnection, scope: BatchScope, cursor: int, now: datetime
) -> None:
    mine = (epochs.c.agent_id == scope.agent_id) & (epochs.c.epoch == scope.epoch)
    await connection.execute(update(epochs).where(mine).values(cursor=cursor))
    await connection.execute(
        update(agents).where(agents.c.id == scope.agent_id).values(heard_at=now)
    )


class IntakeResult(msgspec.Struct, frozen=True, kw_only=True):
    fresh: tuple[LinkItem, ...]
    cursor: int
    gap: bool
    """Something between the cursor and the next item has not arrived."""


def take(cursor: int, items: Sequence[LinkItem]) -> IntakeResult:
    """Take the items that follow the cursor.

    The cursor is the sequence of the last applied item. Items form a chain: `before` names the
    previous item. A merged state leaves a hole in the sequences and none in the chain. Duplicates
    are left out; what stands behind a gap is too, and is sent again.
    """
    fresh: list[LinkItem] = []
    for item in items:
        # Sent again after a lost acknowledgement.
        if item.sequence <= cursor:
            continue
        # Its predecessor has not arrived: applying it would skip what lies between.
        if item.before > cursor:
            return IntakeResult(fresh=tuple(fresh), cursor=cursor, gap=True)
        fresh.append(item)
        cursor = item.sequence
    return IntakeResult(fresh=tuple(fresh), cursor=cursor, gap=False)


class Follower(Protocol):
    """The port of a part that keeps tables of its own from each batch of a believed epoch.

    It works with bulk statements, because a batch has hundreds of items, and returns the changes
    that people are told of.
    """

    async def __call__(
        self, connection: AsyncConnection, scope: BatchScope, batch: Batch, now: datetime
    ) -> Sequence[FeedChange]: ...
