"""Writes of the projection's rows: upserts in bulk, and the rebuild of an agent's projection.

All of them run inside the caller's transaction. A rebuild drops everything that the agent can
report again. Facts, tasks and the audit are records of what happened and stay. The agent's link
asks for all bodies, as after any difference, and ends in step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Table, delete, func, select, tuple_, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from bus.link.kinds import APPLICATION
from service.projection.applications import StateChangeTimes
from service.projection.batch import Batch, BatchScope
from service.projection.batch_changes import BatchChanges, Key
from service.store.link_signals import LinkSignal, signal_link
from service.store.tables import agents, applications, facts, instances, objects

_LONGEST = timedelta(minutes=10)
"""After that it has failed, and may be asked for again."""


async def known_before(
    connection: AsyncConnection, scope: BatchScope, batch: Batch
) -> Mapping[str, StateChangeTimes]:
    """Read what `applications` says of those in the batch, by subject."""
    subjects = {state.subject for state in batch.states if state.kind == APPLICATION.name}
    if not subjects or scope.quarantined:
        return {}
    names = [tuple(subject.split("/", 1)) for subject in subjects if "/" in subject]
    table = applications.c
    query = select(
        table.namespace, table.name, table.sync, table.health, table.sync_since, table.health_since
    ).where(table.agent_id == scope.agent_id, tuple_(table.namespace, table.name).in_(names))
    return {
        f"{row.namespace}/{row.name}": StateChangeTimes(
            sync=row.sync,
            health=row.health,
            sync_since=row.sync_since,
            health_since=row.health_since,
        )
        for row in await connection.execute(query)
    }


async def write(connection: AsyncConnection, scope: BatchScope, written: BatchChanges) -> None:
    """Write all rows but the changes, which come last: see store/changes.py."""
    await _upsert(connection, objects, written.objects, ("agent_id", "epoch", "kind", "subject"))
    await _forget(connection, scope, written.gone)
    await _upsert(connection, applications, written.applications, ("id",))
    await _record_facts(connection, scope, written.facts)
    if written.components:
        await _components(connection, scope, written.components)


async def _record_facts(
    connection: AsyncConnection, scope: BatchScope, reported: Sequence[Mapping[str, Any]]
) -> None:
    """Insert each fact once, in whichever month it stands: a corrected clock moves it.

    No constraint can say so across partitions, so whoever writes facts of an agent takes turns.
    """
    if not reported:
        return
    turn = func.pg_advisory_xact_lock(func.hashtextextended(f"facts/{scope.agent_id}", 0))
    await connection.execute(select(turn))
    fresh = {str(row["event_id"]): row for row in reversed(reported)}
    mine = facts.c.agent_id == scope.agent_id
    known = await connection.execute(
        select(facts.c.event_id).where(mine, facts.c.event_id.in_(fresh))
    )
    for event_id in known.scalars():
        fresh.pop(event_id, None)
    if fresh:
        await connection.execute(insert(facts), list(reversed(fresh.values())))


async def _upsert(
    connection: AsyncConnection,
    table: Table,
    rows: Sequence[Mapping[str, Any]],
    key: tuple[str, ...],
) -> None:
    """Upsert rows in the order of the key: two writers never wait for each other in a circle."""
    if not rows:
        return
    ordered = sorted(rows, key=lambda row: tuple(row[name] for name in key))
    statement = insert(table)
    values = {name: statement.excluded[name] for name in ordered[0] if name not in key}
    await connection.execute(
        statement.on_conflict_do_update(index_elements=list(key), set_=values), ordered
    )


async def _forget(connection: AsyncConnection, scope: BatchScope, gone: Sequence[Key]) -> None:
    if not gone:
        return
    mine = (objects.c.agent_id == scope.agent_id) & (objects.c.epoch == scope.epoch)
    named = tuple_(objects.c.kind, objects.c.subject).in_(gone)
    await connection.execute(delete(objects).where(mine, named))
    names = [subject.split("/", 1) for kind, subject in gone if kind == APPLICATION.name]
    if names and not scope.quarantined:
        named = tuple_(applications.c.namespace, applications.c.name).in_(map(tuple, names))
        of_agent = applications.c.agent_id == scope.agent_id
        await connection.execute(delete(applications).where(of_agent, named))


async def _components(
    connection: AsyncConnection, scope: BatchScope, found: Mapping[str, Mapping[str, Any] | None]
) -> None:
    mine = agents.c.id == scope.agent_id
    listed = (await connection.execute(select(agents.c.components).where(mine))).scalar_one()
    merged = {row["name"]: row for row in listed} | dict(found)
    rows = [merged[name] for name in sorted(merged) if merged[name]]
    await connection.execute(update(agents).where(mine).values(components=rows))


def rebuilding(
    rebuilt_at: datetime | None, now: datetime, *, in_step: bool | None
) -> datetime | None:
    """Tell since when an agent's projection is being rebuilt; None: it is not."""
    over = rebuilt_at is None or in_step or now - rebuilt_at > _LONGEST
    return None if over else rebuilt_at


async def drop_cache(connection: AsyncConnection, agent_id: str, now: datetime) -> None:
    """Drop what an agent can report again; until its roots were compared, its step is unknown."""
    for table in (objects, applications, instances):
        await connection.execute(delete(table).where(table.c.agent_id == agent_id))
    unknown: dict[str, object] = {
        "roots_in_step": None,
        "roots_at": None,
        "components": [],
        "doubted": {},
    }
    this = update(agents).where(agents.c.id == agent_id)
    await connection.execute(this.values(**unknown, rebuilt_at=now))
    await signal_link(connection, LinkSignal(agent_id=agent_id, resync=True))
