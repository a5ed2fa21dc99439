"""The audit book of an account: written at its end, one writer at a time.

A record is part of the caller's transaction: what happened and its record stand or fall together.

An advisory lock per account orders the writers: the sequence has no hole, because a number is
taken only by the transaction that commits it. Record late, before `changes.note`: it is held until
the commit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import RowMapping, func, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from service.audit.record import START, Entry, Record, Source, chained
from service.store.tables import audit


async def turn(connection: AsyncConnection, account: str) -> None:
    """Wait for one's turn to write; until the commit."""
    await connection.execute(select(func.pg_advisory_xact_lock(_lock_of(account))))


async def record(connection: AsyncConnection, entry: Entry) -> Record | None:
    """None where a record of this id stands already."""
    return next(iter(await record_all(connection, (entry,))), None)


async def record_all(connection: AsyncConnection, entries: Sequence[Entry]) -> Sequence[Record]:
    """In their order, each id once; as many statements for a hundred as for one."""
    if not entries:
        return ()
    account = entries[0].account
    await turn(connection, account)
    known = await _known(connection, entries)
    sequence, previous = await _last(connection, account)
    made: list[Record] = []
    for entry in entries:
        if entry.id not in known:
            known.add(entry.id)
            made.append(chained(entry, sequence + 1, previous))
            sequence, previous = made[-1].sequence, made[-1].hash
    if made:
        await connection.execute(insert(audit), [_row(it) for it in made])
    return made


def record_of(row: RowMapping) -> Record:
    entry = Entry(
        account=row["account_id"],
        id=row["id"],
        time=row["time"],
        actor=row["actor"],
        action=row["action"],
        resource=row["resource"],
        address=row["address"],
        project=row["project"],
        decision=row["decision"],
        outcome=row["outcome"],
        source=Source(row["source"]),
        detail=row["detail"],
    )
    return Record(sequence=row["sequence"], previous=row["previous"], hash=row["hash"], entry=entry)


async def after(
    connection: AsyncConnection, account: str, sequence: int, limit: int = 500
) -> Sequence[Record]:
    """In the order of the chain."""
    query = (
        select(audit)
        .where(audit.c.account_id == account, audit.c.sequence > sequence)
        .order_by(audit.c.sequence)
        .limit(limit)
    )
    return [record_of(row) for row in (await connection.execute(query)).mappings()]


async def _known(connection: AsyncConnection, entries: Sequence[Entry]) -> set[str]:
    query = select(audit.c.id).where(audit.c.id.in_([it.id for it in entries]))
    return set((await connection.execute(query)).scalars())


async def _last(connection: AsyncConnection, account: str) -> tuple[int, str]:
    query = (
        select(audit.c.sequence, audit.c.hash)
        .where(audit.c.account_id == account)
        .order_by(audit.c.sequence.desc())
        .limit(1)
    )
    row = (await connection.execute(query)).first()
    return (row.sequence, row.hash) if row is not None else (0, START)


def _lock_of(account: str) -> Any:
    return func.hashtextextended(f"audit/{account}", 0)


def _row(made: Record) -> dict[str, object]:
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
    }
