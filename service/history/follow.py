"""What this room does with each batch of an agent: ledger, audit, instances; and what it tells."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from bus.events import OperationFinished, OperationStarted
from bus.events.registry import wire_type
from service.audit import book
from service.history.keep import Kept, keep
from service.history.ledger import Drift
from service.history.recorded import actors_of, entries
from service.history.running import keep_instances
from service.history.said import Said, fact_of, in_order
from service.projection.values import Batch, Scope
from service.store.changes import Change
from service.store.tables import facts as fact_table

_STARTED = wire_type(OperationStarted)
_LOOKED_AT = 500


async def follow_batch(
    connection: AsyncConnection, scope: Scope, batch: Batch, now: datetime
) -> Sequence[Change]:
    """The audit's lock comes after the tables and before the change feed's (see api/call.py)."""
    del now
    await keep_instances(connection, scope, batch)
    kept = await keep(connection, scope, batch)
    await _record(connection, scope, in_order(scope.agent_id, batch.facts), kept)
    return [
        *(_told(scope, it, "drift.began") for it in kept.began),
        *(_told(scope, it, "drift.ended") for it in kept.ended),
    ]


async def _record(
    connection: AsyncConnection, scope: Scope, facts: Sequence[Said], kept: Kept
) -> None:
    actors = actors_of(facts)
    asked = {
        one.subject
        for one in facts
        if isinstance(one.fact, OperationFinished)
        and not one.fact.automated
        and one.fact.operation not in actors
    }
    if asked:
        actors |= await _actors(connection, scope, asked)
    await book.record_all(connection, [*entries(scope, facts, kept, actors)])


async def _actors(connection: AsyncConnection, scope: Scope, subjects: set[str]) -> dict[str, str]:
    """Who began operations of these applications, of those told in earlier batches."""
    query = (
        select(fact_table.c.type, fact_table.c.body)
        .where(
            fact_table.c.agent_id == scope.agent_id,
            fact_table.c.subject.in_(subjects),
            fact_table.c.type == _STARTED,
        )
        .order_by(fact_table.c.time.desc())
        .limit(_LOOKED_AT)
    )
    found: dict[str, str] = {}
    for row in await connection.execute(query):
        fact = fact_of(row.type, row.body)
        if isinstance(fact, OperationStarted) and fact.initiated_by:
            found.setdefault(fact.operation, fact.initiated_by)
    return found


def _told(scope: Scope, drift: Drift, type_: str) -> Change:
    return Change(
        type=type_,
        subject=drift.subject,
        project=drift.project,
        agent_id=scope.agent_id,
        body={
            "id": drift.id,
            "object": drift.object,
            "fields": list(drift.fields),
            "actor": drift.actor,
            "beganAt": drift.began_at.isoformat(),
            "endedAt": drift.ended_at.isoformat() if drift.ended_at else None,
            "endedHow": drift.ended_how,
        },
    )
