"""Followers of the projection, which write history in the transaction of each batch.

`follow_batch` writes the ledger, the audit and the instances; `FOLLOWERS` names all followers in
their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from bus.events import OperationFinished, OperationStarted
from bus.events.event import wire_type
from service.audit import audit_book
from service.history.audit_entries import actors_of, entries, follow_results
from service.history.instance_rows import keep_instances
from service.history.ledger import LedgerDrift
from service.history.ledger_writer import LedgerChange, write_ledger
from service.history.recorded_facts import RecordedFact, fact_of, in_order
from service.projection.batch import Batch, BatchScope
from service.projection.writer import Follower
from service.store.changes import FeedChange
from service.store.tables import facts as fact_table

_STARTED = wire_type(OperationStarted)
_LOOKED_AT = 500


async def follow_batch(
    connection: AsyncConnection, scope: BatchScope, batch: Batch, now: datetime
) -> Sequence[FeedChange]:
    """Write history with a batch; the audit's lock comes after the tables', before the feed's."""
    del now
    await keep_instances(connection, scope, batch)
    kept = await write_ledger(connection, scope, batch)
    await _record(connection, scope, in_order(scope.agent_id, batch.facts), kept)
    return [
        *(_drift_change(scope, it, "drift.began") for it in kept.began),
        *(_drift_change(scope, it, "drift.ended") for it in kept.ended),
    ]


async def _record(
    connection: AsyncConnection,
    scope: BatchScope,
    facts: Sequence[RecordedFact],
    kept: LedgerChange,
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
    await audit_book.record_all(connection, [*entries(scope, facts, kept, actors)])


async def _actors(
    connection: AsyncConnection, scope: BatchScope, subjects: set[str]
) -> dict[str, str]:
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


def _drift_change(scope: BatchScope, drift: LedgerDrift, type_: str) -> FeedChange:
    return FeedChange(
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


FOLLOWERS: tuple[Follower, ...] = (follow_batch, follow_results)
