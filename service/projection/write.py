"""Rows into tables: upserts in bulk, inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Table, delete, func, select, tuple_, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from service.projection.applications import Since
from service.projection.reduce import Key, Written
from service.projection.values import APPLICATION, Batch, Scope
from service.store.tables import agents, applications, facts, objects


async def known_before(
    connection: AsyncConnection, scope: Scope, batch: Batch
) -> Mapping[str, Since]:
    """What `applications` says of those in the batch, by subject."""
    wanted = {state.subject for state in batch.states if state.kind == APPLICATION}
    if not wanted or scope.quarantined:
        return {}
    names = [tuple(subject.split("/", 1)) for subject in wanted if "/" in subject]
    table = applications.c
    query = select(
        table.namespace, table.name, table.sync, table.health, table.sync_since, table.health_since
    ).where(table.agent_id == scope.agent_id, tuple_(table.namespace, table.name).in_(names))
    return {
        f"{row.namespace}/{row.name}": Since(
            sync=row.sync,
            health=row.health,
            sync_since=row.sync_since,
            health_since=row.health_since,
        )
        for row in await connection.execute(query)
    }


async def write(connection: AsyncConnection, scope: Scope, written: Written) -> None:
    """Everything but the changes: those come last in the transaction, see store/changes.py."""
    await _upsert(connection, objects, written.objects, ("agent_id", "epoch", "kind", "subject"))
    await _forget(connection, scope, written.gone)
    await _upsert(connection, applications, written.applications, ("id",))
    await _record_facts(connection, scope, written.facts)
    if written.components:
        await _components(connection, scope, written.components)


async def _record_facts(
    connection: AsyncConnection, scope: Scope, told: Sequence[Mapping[str, Any]]
) -> None:
    """Each event once, in whichever month it stands: a clock that was corrected moves it.

    No constraint can say so across partitions, so whoever writes facts of an agent takes turns.
    """
    if not told:
        return
    turn = func.pg_advisory_xact_lock(func.hashtextextended(f"facts/{scope.agent_id}", 0))
    await connection.execute(select(turn))
    fresh = {str(row["event_id"]): row for row in reversed(told)}
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
    """In the order of the key: two writers never wait for each other in a circle."""
    if not rows:
        return
    ordered = sorted(rows, key=lambda row: tuple(row[name] for name in key))
    statement = insert(table)
    values = {name: statement.excluded[name] for name in ordered[0] if name not in key}
    await connection.execute(
        statement.on_conflict_do_update(index_elements=list(key), set_=values), ordered
    )


async def _forget(connection: AsyncConnection, scope: Scope, gone: Sequence[Key]) -> None:
    if not gone:
        return
    mine = (objects.c.agent_id == scope.agent_id) & (objects.c.epoch == scope.epoch)
    named = tuple_(objects.c.kind, objects.c.subject).in_(gone)
    await connection.execute(delete(objects).where(mine, named))
    names = [subject.split("/", 1) for kind, subject in gone if kind == APPLICATION]
    if names and not scope.quarantined:
        named = tuple_(applications.c.namespace, applications.c.name).in_(map(tuple, names))
        of_agent = applications.c.agent_id == scope.agent_id
        await connection.execute(delete(applications).where(of_agent, named))


async def _components(
    connection: AsyncConnection, scope: Scope, found: Mapping[str, Mapping[str, Any] | None]
) -> None:
    mine = agents.c.id == scope.agent_id
    listed = (await connection.execute(select(agents.c.components).where(mine))).scalar_one()
    merged = {row["name"]: row for row in listed} | dict(found)
    rows = [merged[name] for name in sorted(merged) if merged[name]]
    await connection.execute(update(agents).where(mine).values(components=rows))
