"""The audit book of an account: written at its end, one writer at a time.

A record is part of the caller's transaction: what happened and its record stand or fall together.

An advisory lock per account orders the writers: the sequence has no hole, because a number is
taken only by the transaction that commits it. Record late, before `changes.note`: it is held until
the commit.

Each record is signed with the service's key, but only where the record before it is: the service
vouches for nothing that somebody else may have written. Who finds an unsigned tail has to look at
it, and go on with `sign_from_here`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec
import structlog
from sqlalchemy import func, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from service.audit.audit_record import (
    START,
    AuditEntry,
    AuditSource,
    ChainedRecord,
    chained,
    signed,
    statement_of,
)
from service.keys.key_file import KeyFile
from service.store.changes import FeedChange
from service.store.database import keys_of
from service.store.rows import find_row, read_rows
from service.store.tables import audit

log = structlog.get_logger()


class AuditRow(msgspec.Struct, frozen=True, kw_only=True):
    account_id: str
    sequence: int
    id: str
    time: datetime
    actor: str
    address: str
    action: str
    resource: str
    project: str
    decision: str
    outcome: str
    source: str
    detail: dict[str, Any]
    previous: str
    hash: str
    key_id: str
    signature: str


async def turn(connection: AsyncConnection, account: str) -> None:
    """Wait for one's turn to write; until the commit."""
    await connection.execute(select(func.pg_advisory_xact_lock(_lock_of(account))))


async def record(connection: AsyncConnection, entry: AuditEntry) -> ChainedRecord | None:
    """Record one entry; None where a record of this id stands already."""
    return next(iter(await record_all(connection, (entry,))), None)


async def record_all(
    connection: AsyncConnection, entries: Sequence[AuditEntry]
) -> Sequence[ChainedRecord]:
    """Record entries in their order, each id once, in as many statements as for one."""
    if not entries:
        return ()
    account = entries[0].account
    await turn(connection, account)
    known = await _known(connection, entries)
    tail = await _tail(connection, account)
    sequence, previous = tail.sequence, tail.hash
    made: list[ChainedRecord] = []
    for entry in entries:
        if entry.id not in known:
            known.add(entry.id)
            made.append(chained(entry, sequence + 1, previous))
            sequence, previous = made[-1].sequence, made[-1].hash
    made = _signed(made, tail, keys_of(connection))
    if made:
        await connection.execute(insert(audit), [_row(it) for it in made])
    return made


def recorded(entry: AuditEntry) -> FeedChange:
    """Make the change that tells readers of the feed of a record."""
    body = {"action": entry.action, "resource": entry.resource, "actor": entry.actor}
    return FeedChange(type="audit.recorded", subject=entry.id, project=entry.project, body=body)


async def sign_from_here(connection: AsyncConnection, entry: AuditEntry) -> None:
    """Record `entry`, and vouch with it for all that stands before it: a person's decision."""
    await turn(connection, entry.account)
    tail = await _tail(connection, entry.account)
    made = chained(entry, tail.sequence + 1, tail.hash)
    keys = keys_of(connection)
    row = _row(made if keys is None else signed(made, keys.ring.current))
    await connection.execute(insert(audit).values(row))


def _record_of(row: AuditRow) -> ChainedRecord:
    entry = AuditEntry(
        account=row.account_id,
        id=row.id,
        time=row.time,
        actor=row.actor,
        action=row.action,
        resource=row.resource,
        address=row.address,
        project=row.project,
        decision=row.decision,
        outcome=row.outcome,
        source=AuditSource(row.source),
        detail=row.detail,
    )
    return ChainedRecord(
        sequence=row.sequence,
        previous=row.previous,
        hash=row.hash,
        entry=entry,
        key_id=row.key_id,
        signature=row.signature,
    )


async def after(
    connection: AsyncConnection, account: str, sequence: int, limit: int = 500
) -> Sequence[ChainedRecord]:
    """Read the records after a sequence, in the order of the chain."""
    query = (
        select(audit)
        .where(audit.c.account_id == account, audit.c.sequence > sequence)
        .order_by(audit.c.sequence)
        .limit(limit)
    )
    return [_record_of(row) for row in await read_rows(connection, query, AuditRow)]


async def _known(connection: AsyncConnection, entries: Sequence[AuditEntry]) -> set[str]:
    query = select(audit.c.id).where(audit.c.id.in_([it.id for it in entries]))
    return set((await connection.execute(query)).scalars())


async def newest(connection: AsyncConnection, account: str) -> ChainedRecord | None:
    """Read the head of the chain."""
    query = (
        select(audit)
        .where(audit.c.account_id == account)
        .order_by(audit.c.sequence.desc())
        .limit(1)
    )
    row = await find_row(connection, query, AuditRow)
    return None if row is None else _record_of(row)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tail:
    """What the next record continues."""

    sequence: int = 0
    hash: str = START
    record: ChainedRecord | None = None


async def _tail(connection: AsyncConnection, account: str) -> _Tail:
    found = await newest(connection, account)
    return (
        _Tail() if found is None else _Tail(sequence=found.sequence, hash=found.hash, record=found)
    )


def _signed(
    made: Sequence[ChainedRecord], tail: _Tail, keys: KeyFile | None
) -> list[ChainedRecord]:
    if keys is None or not made:
        return list(made)
    ring, before = keys.ring, tail.record
    if before is not None and not ring.verifies(
        before.key_id, before.signature, statement_of(before)
    ):
        log.error(
            "audit record not signed: the one before it is not",
            account=made[0].entry.account,
            sequence=made[0].sequence,
            remedy="gitops audit verify; then gitops service sign-audit",
        )
        return list(made)
    return [signed(it, ring.current) for it in made]


def _lock_of(account: str) -> Any:
    return func.hashtextextended(f"audit/{account}", 0)


def _row(made: ChainedRecord) -> dict[str, object]:
    entry = made.entry
    return {
        "sequence": made.sequence,
        "account_id": entry.account,
        "id": entry.id,
        "time": entry.time,
        "actor": entry.actor,
        "address": entry.address,
        "action": entry.action,
        "resource": entry.resource,
        "project": entry.project,
        "decision": entry.decision,
        "outcome": entry.outcome,
        "source": entry.source.value,
        "detail": entry.detail,
        "previous": made.previous,
        "hash": made.hash,
        "key_id": made.key_id,
        "signature": made.signature,
    }
