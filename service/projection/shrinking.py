"""What the guard against many deletions remembers of an epoch, and what people are shown of it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import msgspec
import structlog
from sqlalchemy import cast, select, update
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.ext.asyncio import AsyncConnection

from service.projection.removals import Shrinking, hold_many, removed_kinds
from service.projection.values import APPLICATION, Batch, Scope
from service.store.changes import Change
from service.store.tables import agents, applications, epochs, objects

log = structlog.get_logger()


async def hold_removals(
    connection: AsyncConnection, scope: Scope, batch: Batch, now: datetime
) -> tuple[Batch, list[Change]]:
    """`batch` without tombstones that are too many; the epoch's row is locked by the caller."""
    kinds = removed_kinds(batch)
    if not kinds:
        return batch, []
    mine = (epochs.c.agent_id == scope.agent_id) & (epochs.c.epoch == scope.epoch)
    stored = (await connection.execute(select(epochs.c.removals).where(mine))).scalar_one()
    before = msgspec.convert(stored, dict[str, Shrinking])
    found = hold_many(batch, await _known(connection, scope, kinds), before, now)
    values = {"removals": msgspec.to_builtins(found.shrinking)}
    await connection.execute(update(epochs).where(mine).values(values))
    for kind, subjects in found.held.items():
        log.warning("deletions held", agent=scope.agent, kind=kind, count=len(subjects))
        await mark_doubted(connection, scope, kind, subjects, now)
    told = {kind: len(subjects) for kind, subjects in found.held.items()}
    return found.batch, [_told(scope, told)] if told else []


def _told(scope: Scope, held: Mapping[str, int]) -> Change:
    body = {"suspect": sum(held.values())}
    return Change(type="agent.changed", subject=scope.agent, agent_id=scope.agent_id, body=body)


async def mark_doubted(
    connection: AsyncConnection, scope: Scope, kind: str, subjects: frozenset[str], now: datetime
) -> None:
    """Shown as suspect and as held by the guard, not removed."""
    if kind == APPLICATION:
        named = (applications.c.namespace + "/" + applications.c.name).in_(subjects)
        mine = applications.c.agent_id == scope.agent_id
        await connection.execute(update(applications).where(mine, named).values(suspect=True))
    held = cast({kind: {"count": len(subjects), "since": now.isoformat()}}, JSONB)
    this = update(agents).where(agents.c.id == scope.agent_id)
    await connection.execute(this.values(doubted=agents.c.doubted.op("||")(held)))


async def _known(
    connection: AsyncConnection, scope: Scope, kinds: frozenset[str]
) -> Mapping[str, set[str]]:
    query = select(objects.c.kind, objects.c.subject).where(
        objects.c.agent_id == scope.agent_id,
        objects.c.epoch == scope.epoch,
        objects.c.kind.in_(kinds),
    )
    found: dict[str, set[str]] = {kind: set() for kind in kinds}
    for row in await connection.execute(query):
        found[row.kind].add(row.subject)
    return found
