"""Audit records of what agents report: syncs and tasks that ended, drifts that began or ended.

They are written with each batch of the projection, inside its transaction. Ids are derived from the
fact, the drift or the task, so what is reported twice is recorded once. Tasks that only read leave
no record.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

import msgspec
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from bus.events import OperationFinished, OperationStarted
from bus.link import TaskKind, TaskResult
from service.audit import audit_book
from service.audit.audit_record import AuditEntry, AuditSource, deterministic_id
from service.history.ledger import LedgerDrift
from service.history.ledger_writer import LedgerChange
from service.history.recorded_facts import RecordedFact
from service.projection.batch import Batch, BatchScope
from service.store.changes import FeedChange
from service.store.rows import read_rows
from service.store.tables import tasks

AUTOMATED = "automated sync"
_MESSAGE = 500


def entries(
    scope: BatchScope, facts: Iterable[RecordedFact], kept: LedgerChange, actors: Mapping[str, str]
) -> Iterator[AuditEntry]:
    """`actors`: who began an operation, by its id."""
    for one in facts:
        if isinstance(one.fact, OperationFinished):
            yield _synced(scope, one, one.fact, actors)
    for drift in kept.began:
        yield _drifted(scope, drift, "drift.began")
    for drift in kept.ended:
        yield _drifted(scope, drift, "drift.ended")


def actors_of(facts: Iterable[RecordedFact]) -> dict[str, str]:
    started = (one.fact for one in facts)
    return {
        it.operation: it.initiated_by or AUTOMATED
        for it in started
        if isinstance(it, OperationStarted)
    }


def _synced(
    scope: BatchScope, one: RecordedFact, fact: OperationFinished, actors: Mapping[str, str]
) -> AuditEntry:
    known = AUTOMATED if fact.automated else actors.get(fact.operation, "")
    return AuditEntry(
        account=scope.account_id,
        id=deterministic_id(scope.account_id, scope.agent_id, "sync", one.id),
        time=one.time,
        actor=(known or f"agent {scope.agent}")[:200],
        action="application.synced",
        resource=_resource(scope, one.subject),
        project=one.project,
        outcome=fact.phase.value.lower(),
        source=AuditSource.AGENT,
        detail={
            "operation": fact.operation[:64],
            "revision": fact.revision[:64],
            "automated": fact.automated,
            "message": fact.message[:500],
        },
    )


def _drifted(scope: BatchScope, drift: LedgerDrift, action: str) -> AuditEntry:
    ended = action == "drift.ended"
    time = drift.ended_at if ended and drift.ended_at is not None else drift.began_at
    return AuditEntry(
        account=scope.account_id,
        id=deterministic_id(scope.account_id, drift.id, action, time.isoformat()),
        time=time,
        actor=drift.actor or "unknown",
        action=action,
        resource=_resource(scope, drift.subject),
        project=drift.project,
        outcome=drift.ended_how if ended else "open",
        source=AuditSource.AGENT,
        detail={"drift": drift.id, "object": drift.object, "fields": list(drift.fields)},
    )


def _resource(scope: BatchScope, subject: str) -> str:
    return f"application {scope.agent}/{subject}"


class WriteTaskRow(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    kind: str
    subject: str
    project: str
    actor: str


async def follow_results(
    connection: AsyncConnection, scope: BatchScope, batch: Batch, now: datetime
) -> Sequence[FeedChange]:
    """Tells nothing itself: `task.changed` was told by who wrote the task."""
    results = {it.id: it for it in batch.results if it.phase.final}
    if not results:
        return ()
    query = select(tasks).where(
        tasks.c.id.in_(results),
        tasks.c.agent_id == scope.agent_id,
        tasks.c.kind.in_([it.value for it in TaskKind if it.writes]),
    )
    rows = await read_rows(connection, query.order_by(tasks.c.id), WriteTaskRow)
    entries = [_entry(scope, row, results[row.id], now) for row in rows]
    await audit_book.record_all(connection, entries)
    return ()


def _entry(scope: BatchScope, task: WriteTaskRow, result: TaskResult, now: datetime) -> AuditEntry:
    return AuditEntry(
        account=scope.account_id,
        id=deterministic_id(scope.account_id, "task", result.id),
        time=now,
        actor=task.actor,
        action=f"task.{task.kind}.ended",
        resource=task.subject or f"agent/{scope.agent}",
        project=task.project,
        outcome=(result.code or result.phase.value)[:32],
        source=AuditSource.AGENT,
        detail={"task": result.id, "agent": scope.agent, "message": result.message[:_MESSAGE]},
    )
